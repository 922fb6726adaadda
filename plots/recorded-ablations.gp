# recorded-ablations.gp - test accuracy of models trained without a part, from the recorded runs in runs.tsv (make -C experiments ablations):
# a panel per task that has ablations; bars: mean over seeds, with one standard deviation (n - 1) either side; small points: seeds;
# dashed: the whole HKT; dotted: always answering the most frequent class.
load plots.'/style.gp'
data = from.'/runs.tsv'
name_of(s) = s eq 'hkt/main' ? 'HKT, 3 levels' : s eq 'mha/main' ? 'MHA, same width' : s eq 'mha/matched' ? 'MHA, equal parameters' : \
    s eq 'hkt/levels-1' ? 'one level' : s eq 'hkt/levels-2' ? 'two levels' : s eq 'hkt/levels-4' ? 'four levels' : \
    s eq 'hkt/no-conv' ? 'no convolution' : s eq 'hkt/no-attention' ? 'no attention' : s eq 'hkt/static' ? 'static fusion' : \
    s eq 'hkt/score' ? 'score fusion' : s eq 'hkt/fixed-down' ? 'fixed downsampling' : s eq 'hkt/near-mha' ? 'started near MHA' : \
    s eq 'hkt/epochs-8' ? 'HKT, 8 epochs' : s eq 'mha/epochs-8' ? 'MHA, 8 epochs' : s
key_of(x) = stringcolumn('model').'/'.stringcolumn('setting')
is_in(list, word) = strstrt(list.' ', ' '.word.' ') > 0
# Tasks with another setting than main, in the order of the table, and the models of each. (The line of names passes here too.)
tasks = ''
stats data using (stringcolumn('task') ne 'task' && stringcolumn('setting') ne 'main' && !is_in(tasks, stringcolumn('task')) ? (tasks = tasks.' '.stringcolumn('task'), 1) : 0) nooutput
n_tasks = words(tasks)
if (n_tasks == 0) { stats data using (stringcolumn('setting') eq 'main' || stringcolumn('task') eq 'task' ? NaN : 1) nooutput } # says that there is no such row
array models[n_tasks]
rows = 0
do for [t = 1:n_tasks] {
    list = ' hkt/main mha/main'
    stats data using (stringcolumn('task') eq word(tasks, t) && !is_in(list, key_of(0)) ? (list = list.' '.key_of(0), 1) : 0) nooutput
    models[t] = list
    rows = rows > words(list) ? rows : words(list)
}
is_run(task, key) = stringcolumn('task') eq task && key_of(0) eq key

wide = width_mm > 100
n_cols = 1; n_rows = n_tasks
left_mm = wide ? 45 : 36; right_mm = 5; gap_x_mm = 0; gap_y_mm = 16; top_mm = 6; legend_mm = wide ? 6 : 3 + 3.6 * 3; bottom_mm = legend_mm + 12
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
    i = t - 1
    eval place_panel
    set title task_name(task)
    set xlabel 'test accuracy (%)'
    set ytics ('' -1) scale 0
    array middle[n]; array spread[n]
    do for [k = 1:n] {
        key = word(models[t], k)
        set ytics add (name_of(key) k)
        middle[k] = NaN; spread[k] = NaN
        stats data using (is_run(task, key)) name 'C' nooutput
        if (C_sum > 0) {
            stats data using (is_run(task, key) ? 100 * column('test_accuracy') : NaN) name 'A' nooutput
            middle[k] = A_mean
            spread[k] = A_records > 1 ? A_ssd : 0
        }
    }
    stats data using (stringcolumn('task') eq task ? 100 * column('majority') : NaN) name 'B' nooutput
    set yrange [n + 0.6:0.4]
    set xrange [0:*]
    set arrow 1 from B_mean, 0.4 to B_mean, n + 0.6 nohead ls 11 front
    if (middle[1] == middle[1]) { set arrow 2 from middle[1], 0.4 to middle[1], n + 0.6 nohead ls 10 front }
    plot middle using (0):1:(0):(middle[$1]):($1 - 0.3):($1 + 0.3) with boxxyerror fs solid 1.0 noborder lc rgb 0xB8D8EA, \
         middle using (middle[$1] - spread[$1]):1:(2 * spread[$1]):(0) with vectors nohead lt 1 dt solid lc rgb black lw 1.2, \
         for [k = 1:n] data using (is_run(task, word(models[t], k)) ? 100 * column('test_accuracy') : NaN):(k) with points pt 7 ps dot * 0.6 lc rgb blue
    unset arrow 1
    unset arrow 2
}
eval place_legend
set key maxcols (wide ? 5 : 2)
plot 2 notitle, keyentry with boxes fs solid 1.0 noborder lc rgb 0xB8D8EA title 'mean', keyentry with lines lc rgb black lw 1.2 dt solid title '±1 sd', \
     keyentry with points pt 7 ps dot * 0.6 lc rgb blue title 'one seed', keyentry with lines ls 10 title 'whole HKT', \
     keyentry with lines ls 11 title 'most frequent'
unset multiplot
