# accuracy.gp - test accuracy of every evaluated run with its 95 % interval over sequences, beside published figures for the same task
# (plots/published.tsv), whose settings are others: budgets, lengths and models differ. A panel per task.
# hkt-plot sets: n_runs, run_label, run_task, run_accuracy, run_accuracy_low, run_accuracy_high, run_majority (per cent).
load plots.'/style.gp'
published = plots.'/published.tsv'
tasks = ''
do for [r = 1:n_runs] { if (strstrt(' '.tasks.' ', ' '.run_task[r].' ') == 0) { tasks = tasks.' '.run_task[r] } }
n_tasks = words(tasks)
# Row k of the published figures of a task: their number, and k's name, accuracy and sd.
seen = 0
is_row(task, k) = stringcolumn('task') eq task && (seen = seen + 1, seen == k)
array others[n_tasks]
rows = 0
do for [t = 1:n_tasks] {
    stats published using (stringcolumn('task') eq word(tasks, t)) name 'P' nooutput
    others[t] = int(P_sum)
    n = others[t]
    do for [r = 1:n_runs] { n = n + (run_task[r] eq word(tasks, t)) }
    rows = rows > n ? rows : n
}

n_cols = 1; n_rows = n_tasks
wide = width_mm > 100
left_mm = wide ? 70 : 45; right_mm = 5; gap_x_mm = 0; gap_y_mm = 14; top_mm = 6; legend_mm = 10; bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (4.2 * rows + 6) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
set border 1 lw 0.8
set xlabel 'test accuracy (%)'
set grid noytics xtics lt 1 lc rgb 0xDDDDDD lw 0.6 dt solid
do for [t = 1:n_tasks] {
    set xrange [*:*]; set yrange [*:*] # stats counts only what is in range
    task = word(tasks, t)
    i = t - 1
    eval place_panel
    set title task_name(task)
    n = others[t]
    do for [r = 1:n_runs] { n = n + (run_task[r] eq task) }
    array x_of[n]; array low[n]; array high[n]
    set ytics ('' -1) scale 0
    row = 0
    do for [r = 1:n_runs] {
        if (run_task[r] eq task) {
            row = row + 1
            x_of[row] = run_accuracy[r]; low[row] = run_accuracy_low[r]; high[row] = run_accuracy_high[r]
            set ytics add (run_label[r] row)
        }
    }
    here = row
    do for [k = 1:others[t]] {
        row = row + 1
        seen = 0
        stats published using (is_row(task, k) ? (label = stringcolumn('model'), column('accuracy')) : NaN) name 'A' nooutput
        seen = 0
        stats published using (is_row(task, k) ? (stringcolumn('sd') eq 'NA' ? 0 : column('sd')) : NaN) name 'D' nooutput
        x_of[row] = A_min; low[row] = A_min - D_min; high[row] = A_min + D_min
        set ytics add (label row)
    }
    set xrange [0:*]
    set yrange [n + 0.6:0.4]
    majority = NaN
    do for [r = 1:n_runs] { if (run_task[r] eq task) { majority = run_majority[r] } }
    if (majority == majority) { set arrow 1 from majority, 0.4 to majority, n + 0.6 nohead ls 11 }
    plot x_of using ($1 <= here ? low[$1] : NaN):1:(high[$1] - low[$1]):(0) with vectors nohead lt 1 dt solid, \
         x_of using ($1 <= here ? x_of[$1] : NaN):1 with points lt 1, \
         x_of using ($1 > here ? low[$1] : NaN):1:(high[$1] - low[$1]):(0) with vectors nohead lc rgb vermillion lw 1.4 dt solid, \
         x_of using ($1 > here ? x_of[$1] : NaN):1 with points lc rgb vermillion pt 8 ps dot * 1.2
    unset arrow
}
eval place_legend
set key maxcols (wide ? 3 : 1)
plot 2 notitle, keyentry with points lt 1 title 'runs here, 95 % interval', \
     keyentry with points lc rgb vermillion pt 8 ps dot * 1.2 title 'published, ±1 sd, other settings', \
     keyentry with lines ls 11 title 'most frequent class'
unset multiplot
