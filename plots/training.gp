# training.gp - validation accuracy per epoch, a curve per run, from the log.tsv of every run (hkt-train).
# hkt-plot sets: n_runs, run_log[1..n_runs], run_label[1..n_runs], and majority, the accuracy of always answering the most
# frequent class of the validation split (NaN: not known).
load plots.'/style.gp'
wide = width_mm > 100
n_cols = 1; n_rows = 1
left_mm = 14; right_mm = 4; top_mm = 4
key_cols = wide ? 3 : n_runs + (majority == majority) > 4 ? 2 : 1
key_rows = (n_runs + (majority == majority) - 1) / key_cols + 1
legend_mm = 3 + 3.6 * key_rows; bottom_mm = legend_mm + 12
gap_x_mm = 0; gap_y_mm = 0
height_mm = top_mm + bottom_mm + (wide ? 64 : 46)
eval open_page
set multiplot
i = 0
eval place_panel
set xlabel 'epoch (passes over the training data)'
set ylabel 'validation accuracy (%)'
set yrange [0:*]
set xrange [0:*]
plot for [r = 1:n_runs] run_log[r] using (column('epoch')):(100 * column('val_accuracy')) with linespoints lt r, \
     for [k = 1:(majority == majority)] 100 * majority with lines ls 11
eval place_legend
set key noenhanced maxcols key_cols
plot 2 notitle, for [r = 1:n_runs] keyentry with linespoints lt r title run_label[r], \
     for [k = 1:(majority == majority)] keyentry with lines ls 11 title 'most frequent class'
unset multiplot
