# recorded.gp - test accuracy of the recorded runs of HKT and of MHA of the same width, from runs.tsv (make -C experiments table), beside
# published figures for the same task (plots/published.tsv), whose settings are others: a panel per task, a row per model. Small points:
# seeds; bars: one standard deviation (n - 1) either side of their mean; dotted: always answering the most frequent class. Below each panel
# the difference HKT - MHA, paired by seed, with its 95 % interval (Student), and the difference in the paper.
load plots.'/style.gp'
data = from.'/runs.tsv'
published = plots.'/published.tsv'
tasks = 'listops cifar10 imdb'
is_run(task, model) = stringcolumn('task') eq task && stringcolumn('model') eq model && stringcolumn('setting') eq 'main'
# Tasks that are there, published rows of each, and the most rows of a panel.
array others[3]
array runs_of[3]
n_tasks = 0; rows = 0
do for [t = 1:3] {
    stats data using (is_run(word(tasks, t), 'hkt') || is_run(word(tasks, t), 'mha')) name 'M' nooutput
    runs_of[t] = M_sum
    stats published using (stringcolumn('task') eq word(tasks, t)) name 'P' nooutput
    others[t] = int(P_sum)
    if (M_sum > 0) {
        n_tasks = n_tasks + 1
        rows = rows > others[t] + 2 ? rows : others[t] + 2
    }
}
seen = 0
is_row(task, k) = stringcolumn('task') eq task && (seen = seen + 1, seen == k)

wide = width_mm > 100
n_cols = wide && n_tasks > 0 ? n_tasks : 1
n_rows = wide ? 1 : n_tasks
left_mm = 33; right_mm = 5; gap_x_mm = 6; gap_y_mm = 16; top_mm = 6; legend_mm = wide ? 12 : 3 + 3.6 * 4; bottom_mm = legend_mm + 12
diff_mm = 11; between_mm = 15 # a cell has the accuracies, room for their axis, and the differences
height_mm = top_mm + bottom_mm + n_rows * (4.2 * rows + 4 + between_mm + diff_mm) + (n_rows - 1) * gap_y_mm
stats data using (column('seed')) name 'S' nooutput
seeds = int(S_max) + 1
accuracy_of(task, model, s) = is_run(task, model) && column('seed') == s ? 100 * column('test_accuracy') : 0
eval open_page
set multiplot
set border 1 lw 0.8
set grid noytics xtics lt 1 lc rgb 0xDDDDDD lw 0.6 dt solid
unset mxtics
i = 0
do for [t = 1:3] {
    if (runs_of[t] > 0) {
        set xrange [*:*]; set yrange [*:*] # stats counts only what is in range
        task = word(tasks, t)
        n = others[t] + 2
        eval place_panel
        set bmargin at screen y_mm(panel_y + diff_mm + between_mm)
        set title task_name(task)
        set xlabel 'test accuracy (%)'
        set ytics ('' -1) scale 0
        array middle[n]; array spread[n]
        do for [k = 1:2] {
            middle[k] = NaN; spread[k] = NaN
            name = k == 1 ? 'hkt' : 'mha'
            stats data using (is_run(task, name)) name 'C' nooutput
            if (C_sum > 0) {
                stats data using (is_run(task, name) ? 100 * column('test_accuracy') : NaN) name 'A' nooutput
                middle[k] = A_mean
                spread[k] = A_records > 1 ? A_ssd : 0
            }
            if (!wide || i == 0) { set ytics add ((k == 1 ? 'HKT' : 'MHA') k) }
        }
        stats data using (is_run(task, 'hkt') || is_run(task, 'mha') ? 100 * column('majority') : NaN) name 'B' nooutput
        do for [k = 1:others[t]] {
            seen = 0
            stats published using (is_row(task, k) ? (label = stringcolumn('model'), column('accuracy')) : NaN) name 'A' nooutput
            seen = 0
            stats published using (is_row(task, k) ? (stringcolumn('sd') eq 'NA' ? 0 : column('sd')) : NaN) name 'D' nooutput
            middle[k + 2] = A_min; spread[k + 2] = D_min
            if (!wide || i == 0) { set ytics add (label k + 2) }
        }
        set yrange [n + 0.6:0.4]
        low = B_mean; high = B_mean
        do for [k = 1:n] { if (middle[k] == middle[k]) {
            low = low < middle[k] - 2 * spread[k] ? low : middle[k] - 2 * spread[k]
            high = high > middle[k] + 2 * spread[k] ? high : middle[k] + 2 * spread[k]
        } }
        low = low - 0.05 * (high - low) - 1; high = high + 0.05 * (high - low) + 1
        set xrange [low:high]
        set arrow 1 from B_mean, 0.4 to B_mean, n + 0.6 nohead ls 11
        plot data using (is_run(task, 'hkt') || is_run(task, 'mha') ? 100 * column('test_accuracy') : NaN): \
                 (stringcolumn('model') eq 'hkt' ? 1.3 : 2.3) with points pt 7 ps dot * 0.5 lc rgb sky, \
             middle using (middle[$1] - spread[$1]):1:(2 * spread[$1]):(0) with vectors nohead lt 1 dt solid lc rgb black lw 1.2, \
             middle using ($1 < 3 ? middle[$1] : NaN):1 with points lt 1, \
             middle using ($1 > 2 ? middle[$1] : NaN):1 with points lc rgb vermillion pt 8 ps dot * 1.2
        unset arrow 1

        # Differences: of each seed that both have, their mean and interval; in the second row the paper's.
        array change[seeds]; array row[2]
        sum = 0.0; squares = 0.0; pairs = 0; half = NaN
        set xrange [*:*]; set yrange [*:*]
        do for [s = 0:seeds - 1] {
            stats data using (accuracy_of(task, 'hkt', s)) name 'A' nooutput
            stats data using (accuracy_of(task, 'mha', s)) name 'B' nooutput
            change[s + 1] = A_sum > 0 && B_sum > 0 ? A_sum - B_sum : NaN
            if (change[s + 1] == change[s + 1]) { sum = sum + change[s + 1]; squares = squares + change[s + 1]**2; pairs = pairs + 1 }
        }
        if (pairs > 1) {
            variance = (squares - sum * sum / pairs) / (pairs - 1)
            eval student(pairs)
            half = t_975 * sqrt((variance > 0 ? variance : 0) / pairs)
        }
        row[1] = pairs > 0 ? sum / pairs : NaN
        row[2] = others[t] > 1 ? middle[3] - middle[4] : NaN # HKT and MHA come first in published.tsv
        reach = half == half ? half : 0
        low = row[1] == row[1] ? (row[1] - reach < 0 ? row[1] - reach : 0) : 0
        high = row[1] == row[1] ? (row[1] + reach > 0 ? row[1] + reach : 0) : 0
        low = row[2] < low ? row[2] : low; high = row[2] > high ? row[2] : high
        set bmargin at screen y_mm(panel_y); set tmargin at screen y_mm(panel_y + diff_mm)
        set title ''
        set xlabel sprintf('HKT − MHA (points), n = %d', pairs)
        set ytics ('' -1) scale 0
        if (!wide || i == 0) { set ytics add ('difference' 1); set ytics add ('in the paper' 2) }
        set yrange [2.6:0.4]
        set xrange [low - 0.08 * (high - low) - 0.2:high + 0.08 * (high - low) + 0.2]
        set arrow 1 from 0, 0.4 to 0, 2.6 nohead ls 10 back
        plot row using ($1 == 1 ? row[1] - half : NaN):1:(2 * half):(0) with vectors nohead lt 1 dt solid lc rgb black lw 1.2, \
             row using ($1 == 1 ? row[1] : NaN):1 with points lt 1, \
             row using ($1 == 2 ? row[2] : NaN):1 with points lc rgb vermillion pt 8 ps dot * 1.2, \
             change using (change[$1]):(1.35) with points pt 7 ps dot * 0.5 lc rgb sky
        unset arrow 1
        i = i + 1
    }
}
eval place_legend
set key maxcols (wide ? 2 : 1)
plot 2 notitle, keyentry with points lt 1 title 'mean ±1 sd; difference: 95 %', keyentry with points pt 7 ps dot * 0.5 lc rgb sky title 'one seed', \
     keyentry with points lc rgb vermillion pt 8 ps dot * 1.2 title 'published', keyentry with lines ls 11 title 'most frequent class'
unset multiplot
