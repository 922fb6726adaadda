# ablation.gp - change of accuracy when a part of the model counts as zero, from ablate.tsv (hkt-analyze ablate), with 95 % intervals of
# the paired difference. (a) a level, or its attention or convolution, in all layers and heads. (b) attention or convolution of one head
# on all levels.
load plots.'/style.gp'
data = from.'/ablate.tsv'
is_level(part, l) = stringcolumn('part') eq part && stringcolumn('level') eq sprintf('%d', l)
is_head(part, n, h) = stringcolumn('part') eq part && stringcolumn('layer') eq sprintf('%d', n) && stringcolumn('head') eq sprintf('%d', h)
number_of(name) = stringcolumn('status') eq 'ok' && stringcolumn(name) ne 'NA' ? real(stringcolumn(name)) : 0
stats data using (number_of('layer')) name 'N' nooutput
stats data using (number_of('level')) name 'L' nooutput
stats data using (number_of('head')) name 'H' nooutput
# Range of the intervals of levels (column head is NA) and of heads.
array least[2]; array most[2]
do for [k = 1:2] {
    stats data using ((stringcolumn('head') eq 'NA') == (k == 1) ? 100 * column('change_lo') : NaN) name 'D' nooutput
    stats data using ((stringcolumn('head') eq 'NA') == (k == 1) ? 100 * column('change_hi') : NaN) name 'U' nooutput
    margin = U_max > D_min ? 0.08 * (U_max - D_min) : 1
    least[k] = D_min - margin
    most[k] = U_max + margin
}
stats data using (stringcolumn('part') eq 'none' ? 100 * column('accuracy') : NaN) name 'A' nooutput
layers = int(N_max) + 1; levels = int(L_max) + 1; heads = int(H_max) + 1
array part[3]
part[1] = 'level'; part[2] = 'attention'; part[3] = 'convolution'

wide = width_mm > 100
n_cols = wide ? 2 : 1
n_rows = wide ? 1 : 2
left_mm = 14; right_mm = 3; gap_x_mm = 15; gap_y_mm = 18; top_mm = 6; legend_mm = wide ? 6 : 9; bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 50 : 40) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
unset mxtics
set boxwidth 0.24
set style fill solid 1.0 noborder
set ylabel 'change of accuracy (points)'
i = 0
eval place_panel
set yrange [least[1]:most[1]]
set title sprintf('(a) levels (whole model: %.1f %%)', A_min)
set xlabel 'level'
set xrange [-0.5:levels - 0.5]
set xtics 1
change(part_is_drawn) = part_is_drawn ? 100 * column('change') : NaN
plot for [k = 1:3] for [l = 0:levels - 1] data using (l + 0.27 * (k - 2)):(change(is_level(part[k], l))) with boxes lc rgb (k == 1 ? grey : k == 2 ? blue : orange), \
     0 with lines lc rgb black lw 0.8 dt solid, \
     for [k = 1:3] for [l = 0:levels - 1] data using (l + 0.27 * (k - 2)):(is_level(part[k], l) ? 100 * column('change_lo') : NaN):(0): \
         (100 * (column('change_hi') - column('change_lo'))) with vectors nohead lc rgb black lw 0.9 dt solid
i = 1
eval place_panel
set yrange [least[2]:most[2]]
set title '(b) heads'
set xlabel 'layer.head'
set xrange [-0.5:layers * heads - 0.5]
set xtics ('' -1)
if (layers * heads > 12) { set xtics rotate by 90 right offset 0,0 font ',5' }
do for [n = 0:layers - 1] { do for [h = 0:heads - 1] { set xtics add (sprintf('%d.%d', n, h) n * heads + h) } }
plot for [k = 2:3] for [n = 0:layers - 1] for [h = 0:heads - 1] data using (n * heads + h + 0.27 * (k - 2.5)):(change(is_head(part[k], n, h))) \
         with boxes lc rgb (k == 2 ? blue : orange), \
     0 with lines lc rgb black lw 0.8 dt solid, \
     for [k = 2:3] for [n = 0:layers - 1] for [h = 0:heads - 1] data using (n * heads + h + 0.27 * (k - 2.5)):(is_head(part[k], n, h) ? 100 * column('change_lo') : NaN): \
         (0):(100 * (column('change_hi') - column('change_lo'))) with vectors nohead lc rgb black lw 0.9 dt solid
eval place_legend
set key maxcols (wide ? 4 : 2)
plot 2 notitle, keyentry with boxes lc rgb grey title 'level off', keyentry with boxes lc rgb blue title 'attention off', \
     keyentry with boxes lc rgb orange title 'convolution off', keyentry with lines lc rgb black lw 0.9 dt solid title '95 % interval'
unset multiplot
