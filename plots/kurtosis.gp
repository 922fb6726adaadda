# kurtosis.gp - kurtosis of the scores per layer, level and head with bootstrap intervals, from kurtosis.tsv (hkt-analyze
# kurtosis): a panel per layer, levels along the axis, a point per head; diamonds: Mardia's kurtosis of all heads together. Lines:
# a normal distribution, and what the paper reports.
load plots.'/style.gp'
data = from.'/kurtosis.tsv'
is_all(x) = stringcolumn('head') eq 'NA'
is_head(h) = stringcolumn('head') eq sprintf('%d', h)
stats data using (column('layer')) name 'N' nooutput
stats data using (column('level')) name 'L' nooutput
stats data using (stringcolumn('head') eq 'NA' ? 0 : column('head')) name 'H' nooutput
stats data using (column('kappa_hi')) name 'U' nooutput
stats data using (column('kappa_lo')) name 'D' nooutput
layers = int(N_max) + 1; levels = int(L_max) + 1; heads = int(H_max) + 1
paper = 33 # what the paper reports of a trained model
place(h) = (h - heads / 2.0) * 0.8 / (heads + 1) # heads, then all of them

wide = width_mm > 100
n_cols = wide ? (layers < 3 ? layers : 3) : layers < 2 ? 1 : 2
n_rows = (layers - 1) / n_cols + 1
key_cols = wide ? 4 : 2
key_rows = (heads + 2) / key_cols + 1
left_mm = 14; right_mm = 3; gap_x_mm = 6; gap_y_mm = 17; top_mm = 6
legend_mm = 3 + 3.6 * key_rows; bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 52 : 42) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
set logscale y
set ytics (0.5, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 10000)
set yrange [(D_min < 1 ? D_min : 1) * 0.9:(U_max > paper ? U_max : paper) * 1.15]
set xrange [-0.6:levels - 0.4]
set xtics 1
unset mxtics
do for [i = 0:layers - 1] {
    eval place_panel
    set title sprintf('layer %d', i)
    set xlabel (i + n_cols >= layers ? 'level' : '')
    set ylabel (i % n_cols == 0 ? 'kurtosis κ' : '')
    set format y (i % n_cols == 0 ? '%g' : '')
    here(on) = column('layer') == i && on
    plot 1 with lines ls 10, paper with lines ls 11, \
         for [h = 0:heads - 1] data using (column('level') + place(h)):(here(is_head(h)) ? column('kappa_lo') : NaN):(0): \
             (column('kappa_hi') - column('kappa_lo')) with vectors nohead lt h + 1 dt solid, \
         for [h = 0:heads - 1] data using (column('level') + place(h)):(here(is_head(h)) ? column('kappa') : NaN) with points lt h + 1, \
         data using (column('level') + place(heads)):(here(is_all(0)) ? column('kappa_lo') : NaN):(0): \
             (column('kappa_hi') - column('kappa_lo')) with vectors nohead lc rgb black lw 1 dt solid, \
         data using (column('level') + place(heads)):(here(is_all(0)) ? column('kappa') : NaN) with points lc rgb black pt 12 ps dot * 1.5
}
eval place_legend
set key maxcols key_cols
plot 2 notitle, for [h = 0:heads - 1] keyentry with points lt h + 1 title sprintf('head %d', h), \
     keyentry with points lc rgb black pt 12 ps dot * 1.5 title 'all (Mardia)', keyentry with lines ls 10 title 'normal', keyentry with lines ls 11 title "the paper's 33"
unset multiplot
