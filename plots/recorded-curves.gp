# recorded-curves.gp - validation accuracy along the training of the recorded runs of HKT and of MHA of the same width, from curves.tsv
# (make -C experiments table): a panel per task, a line per seed.
load plots.'/style.gp'
data = from.'/curves.tsv'
all_tasks = 'listops cifar10 imdb'
is_main(task, model) = stringcolumn('task') eq task && stringcolumn('model') eq model && stringcolumn('setting') eq 'main'
is_in(list, word) = strstrt(list.' ', ' '.word.' ') > 0
tasks = ''; seeds = ''
do for [task in all_tasks] {
    stats data using (is_main(task, 'hkt') || is_main(task, 'mha')) name 'C' nooutput
    if (C_sum > 0) { tasks = tasks.' '.task }
}
stats data using (stringcolumn('task') ne 'task' && !is_in(seeds, stringcolumn('seed')) ? (seeds = seeds.' '.stringcolumn('seed'), 1) : 0) nooutput
is_run(task, model, seed) = is_main(task, model) && stringcolumn('seed') eq seed

wide = width_mm > 100
n_tasks = words(tasks)
n_cols = wide && n_tasks > 0 ? n_tasks : 1
n_rows = wide ? 1 : n_tasks
left_mm = 14; right_mm = 5; gap_x_mm = 13; gap_y_mm = 16; top_mm = 6; legend_mm = wide ? 6 : 10; bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * 44 + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
set xlabel 'thousand updates'
set xrange [0:*]
set yrange [*:*]
set offsets 0, graph 0.03, graph 0.05, graph 0.05
do for [t = 1:n_tasks] {
    task = word(tasks, t)
    i = t - 1
    eval place_panel
    set title task_name(task)
    if (!wide || i == 0) { set ylabel 'validation accuracy (%)' } else { unset ylabel }
    set xtics autofreq
    plot for [seed in seeds] data using (is_run(task, 'mha', seed) ? column('step') / 1000 : NaN):(100 * column('val_accuracy')) with linespoints lt 2, \
         for [seed in seeds] data using (is_run(task, 'hkt', seed) ? column('step') / 1000 : NaN):(100 * column('val_accuracy')) with linespoints lt 1
}
eval place_legend
plot 2 notitle, keyentry with linespoints lt 1 title 'HKT, a seed each', keyentry with linespoints lt 2 title 'MHA of the same width'
unset multiplot
