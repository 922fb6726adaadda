# asymmetry.gp - energy and likeness of the antisymmetric parts of the score forms, from asymmetry.tsv (hkt-analyze asymmetry), a
# column of panels per layer. Above: share of the antisymmetric energy per level and head. Below: cosine between the antisymmetric
# parts of two levels. Grey: what random weights give, mean and two standard deviations either side.
load plots.'/style.gp'
data = from.'/asymmetry.tsv'
is(what) = stringcolumn('quantity') eq what
stats data using (column('layer')) name 'N' nooutput
stats data using (column('level')) name 'L' nooutput
stats data using (column('head')) name 'H' nooutput
layers = int(N_max) + 1; levels = int(L_max) + 1; heads = int(H_max) + 1
pairs = levels * (levels - 1) / 2
pair(a, b) = a * levels - a * (a + 1) / 2 + b - a - 1 # number of the pair of levels a < b
place(h) = (h - (heads - 1) / 2.0) * 0.7 / heads
array least[2]; array most[2]
do for [k = 1:2] {
    what = k == 1 ? 'antisymmetric' : 'cosine'
    least[k] = 0; most[k] = 0
    if (k == 1 || pairs > 0) {
        stats data using (is(what) ? column('value') : NaN) name 'V' nooutput
        stats data using (is(what) ? column('expected') - 2 * column('sd') : NaN) name 'A' nooutput
        stats data using (is(what) ? column('expected') + 2 * column('sd') : NaN) name 'B' nooutput
        low = V_min < A_min ? V_min : A_min
        high = V_max > B_max ? V_max : B_max
        least[k] = low - 0.1 * (high - low)
        most[k] = high + 0.1 * (high - low)
    }
}

wide = width_mm > 100
n_cols = layers < 4 ? layers : 4
n_rows = pairs > 0 ? 2 : 1
key_cols = wide ? 8 : 2
key_rows = heads / key_cols + 1
left_mm = 16; right_mm = 3; gap_x_mm = 5; gap_y_mm = 13; top_mm = 6
legend_mm = 3 + 3.6 * key_rows; bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 44 : 36) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
unset mxtics
do for [k = 1:n_rows] {
    what = k == 1 ? 'antisymmetric' : 'cosine'
    do for [layer = 0:n_cols - 1] {
        i = (k - 1) * n_cols + layer
        eval place_panel
        set title (k == 1 ? sprintf('layer %d', layer) : '')
        set xlabel (k == 1 ? 'level' : 'pair of levels')
        set ylabel (layer > 0 ? '' : k == 1 ? '||M_a||^2 / ||M||^2' : 'cosine of M_a')
        set format y (layer > 0 ? '' : '%g')
        set xrange [-0.5:(k == 1 ? levels : pairs) - 0.5]
        set yrange [least[k]:most[k]]
        unset xtics
        set xtics nomirror out scale 0.6 offset 0,0.2
        if (k == 1) { set xtics 1 } else {
            set xtics ('' -1)
            do for [a = 0:levels - 2] { do for [b = a + 1:levels - 1] { set xtics add (sprintf('%d,%d', a, b) pair(a, b)) } }
        }
        x(h) = (k == 1 ? column('level') : is('cosine') ? pair(column('level'), real(stringcolumn('other'))) : NaN) + place(h)
        plot for [h = 0:heads - 1] data using (x(h)):(is(what) && column('layer') == layer && column('head') == h ? column('expected') : NaN): \
                 (0.3 / heads):(2 * column('sd')) with boxxyerror fs solid 1.0 noborder lc rgb 0xDDDDDD, \
             for [h = 0:heads - 1] data using (x(h)):(is(what) && column('layer') == layer && column('head') == h ? column('value') : NaN) \
                 with points lt h + 1
    }
}
eval place_legend
set key maxcols key_cols
plot 2 notitle, for [h = 0:heads - 1] keyentry with points lt h + 1 title sprintf('head %d', h), \
     keyentry with boxes fs solid 1.0 noborder lc rgb 0xDDDDDD title 'random, ±2 sd'
unset multiplot
