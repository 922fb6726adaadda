# recorded-ablations.gp - what taking a part away changes, from the recorded runs in runs.tsv (make -C experiments ablations): a panel per
# task that has ablations, a row per model, sorted: difference of its test accuracy to that of the whole HKT with the same seed, small
# points; large points: their mean with its 95 % interval (Student), each row for itself. Settings with other data or another budget
# (another name before the first '-', as in stream, three, epochs) are not in it: their whole HKT is another.
load plots.'/style.gp'
data = from.'/runs.tsv'
name_of(s) = s eq 'hkt/main' ? 'HKT, 3 levels' : s eq 'mha/main' ? 'MHA, same width' : s eq 'mha/matched' ? 'MHA, equal parameters' : \
    s eq 'hkt/levels-1' ? 'one level' : s eq 'hkt/levels-2' ? 'two levels' : s eq 'hkt/levels-4' ? 'four levels' : \
    s eq 'hkt/no-conv' ? 'no convolution' : s eq 'hkt/no-attention' ? 'no attention' : s eq 'hkt/static' ? 'static fusion' : \
    s eq 'hkt/score' ? 'score fusion' : s eq 'hkt/fixed-down' ? 'fixed downsampling' : s eq 'hkt/near-mha' ? 'started near MHA' : s
key_of(x) = stringcolumn('model').'/'.stringcolumn('setting')
is_in(list, word) = strstrt(list.' ', ' '.word.' ') > 0
is_other(s) = strstrt(' '.s, ' stream') + strstrt(' '.s, ' three') + strstrt(' '.s, ' epochs') > 0
# Tasks with another setting than main, in the order of the table, and the models of each but the whole HKT. (The line of names passes
# here too.)
tasks = ''
counts(x) = stringcolumn('task') ne 'task' && stringcolumn('setting') ne 'main' && !is_other(stringcolumn('setting'))
stats data using (counts(0) && !is_in(tasks, stringcolumn('task')) ? (tasks = tasks.' '.stringcolumn('task'), 1) : 0) nooutput
n_tasks = words(tasks)
if (n_tasks == 0) { stats data using (counts(0) ? 1 : NaN) nooutput } # says that there is no such row
stats data using (column('seed')) name 'S' nooutput
seeds = int(S_max) + 1
is_run(task, key, s) = stringcolumn('task') eq task && key_of(0) eq key && column('seed') == s
array models[n_tasks]
rows = 0
do for [t = 1:n_tasks] {
    list = ''
    stats data using (stringcolumn('task') eq word(tasks, t) && key_of(0) ne 'hkt/main' && !is_other(stringcolumn('setting')) && \
        !is_in(list, key_of(0)) ? (list = list.' '.key_of(0), 1) : 0) nooutput
    models[t] = list
    rows = rows > words(list) ? rows : words(list)
}

wide = width_mm > 100
n_cols = 1; n_rows = n_tasks
left_mm = wide ? 45 : 36; right_mm = 5; gap_x_mm = 0; gap_y_mm = 16; top_mm = 6; legend_mm = wide ? 6 : 3 + 3.6 * 2; bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (4.6 * rows + 4) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
set border 1 lw 0.8
set grid noytics xtics lt 1 lc rgb 0xDDDDDD lw 0.6 dt solid
unset mxtics
do for [t = 1:n_tasks] {
    set xrange [*:*]; set yrange [*:*] # stats counts only what is in range
    task = word(tasks, t)
    n = words(models[t])
    array change[n * seeds]; array middle[n]; array half[n]; array place[n]
    least_n = seeds; low = 0; high = 0
    do for [k = 1:n] {
        sum = 0.0; squares = 0.0; pairs = 0
        do for [s = 0:seeds - 1] {
            change[(k - 1) * seeds + s + 1] = NaN
            stats data using (is_run(task, word(models[t], k), s) ? 100 * column('test_accuracy') : 0) name 'A' nooutput
            stats data using (is_run(task, 'hkt/main', s) ? 100 * column('test_accuracy') : 0) name 'B' nooutput
            if (A_sum > 0 && B_sum > 0) {
                d = A_sum - B_sum
                change[(k - 1) * seeds + s + 1] = d
                sum = sum + d; squares = squares + d * d; pairs = pairs + 1
                low = low < d ? low : d
                high = high > d ? high : d
            }
        }
        middle[k] = pairs > 0 ? sum / pairs : NaN
        half[k] = NaN
        if (pairs > 1) {
            variance = (squares - sum * sum / pairs) / (pairs - 1)
            eval student(pairs)
            half[k] = t_975 * sqrt((variance > 0 ? variance : 0) / pairs)
            low = low < middle[k] - half[k] ? low : middle[k] - half[k]
            high = high > middle[k] + half[k] ? high : middle[k] + half[k]
        }
        least_n = pairs < least_n ? pairs : least_n
    }
    # Rows by their mean, the best first; what has none comes last.
    do for [k = 1:n] {
        place[k] = 1
        do for [m = 1:n] {
            before = middle[m] != middle[m] ? m < k && middle[k] != middle[k] : \
                middle[k] != middle[k] || middle[m] > middle[k] || (middle[m] == middle[k] && m < k)
            place[k] = place[k] + (m != k && before)
        }
    }
    i = t - 1
    eval place_panel
    set title sprintf('%s, n = %d seeds', task_name(task), least_n)
    set xlabel 'test accuracy − that of the whole HKT (points)'
    set ytics ('' -1) scale 0
    do for [k = 1:n] { set ytics add (name_of(word(models[t], k)) place[k]) }
    set yrange [n + 0.6:0.4]
    set xrange [low - 0.05 * (high - low) - 0.1:high + 0.05 * (high - low) + 0.1]
    set arrow 1 from 0, 0.4 to 0, n + 0.6 nohead ls 10 back
    plot middle using (middle[$1] - half[$1]):(place[$1]):(2 * half[$1]):(0) with vectors nohead lt 1 dt solid lc rgb black lw 1.2, \
         middle using (middle[$1]):(place[$1]) with points lt 1, \
         change using (change[$1]):(place[int(($1 - 1) / seeds) + 1] + 0.3) with points pt 7 ps dot * 0.5 lc rgb sky
    unset arrow 1
}
eval place_legend
set key maxcols (wide ? 4 : 2)
plot 2 notitle, keyentry with points lt 1 title 'mean', keyentry with lines lc rgb black lw 1.2 dt solid title '95 % interval, paired by seed', \
     keyentry with points pt 7 ps dot * 0.5 lc rgb sky title 'one seed', keyentry with lines ls 10 title 'whole HKT'
unset multiplot
