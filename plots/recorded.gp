# recorded.gp - test accuracy of the recorded runs of HKT and of MHA of the same width, from runs.tsv (make -C experiments table), beside
# published figures for the same task (plots/published.tsv), whose settings are others: a panel per task, a row per model. Small points:
# seeds; bars: one standard deviation (n - 1) either side of their mean; dotted: always answering the most frequent class.
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
left_mm = 33; right_mm = 5; gap_x_mm = 6; gap_y_mm = 16; top_mm = 6; legend_mm = wide ? 10 : 3 + 3.6 * 4; bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (4.2 * rows + 4) + (n_rows - 1) * gap_y_mm
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
        i = i + 1
    }
}
eval place_legend
set key maxcols (wide ? 4 : 1)
plot 2 notitle, keyentry with points lt 1 title 'runs here: mean ±1 sd', keyentry with points pt 7 ps dot * 0.5 lc rgb sky title 'one seed', \
     keyentry with points lc rgb vermillion pt 8 ps dot * 1.2 title 'published', keyentry with lines ls 11 title 'most frequent class'
unset multiplot
