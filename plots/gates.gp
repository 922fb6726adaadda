# gates.gp - what the model has learned to weigh, from gates.tsv (hkt-analyze gates), coloured by layer. (a) lambda, weight of a level in
# the hierarchical score matrix. (b) alpha, its weight in the output: mean over sequences, bar: one standard deviation either side.
# (c) beta, share of attention against convolution, a point per head.
load plots.'/style.gp'
data = from.'/gates.tsv'
is(what) = stringcolumn('quantity') eq what && stringcolumn('status') eq 'ok'
stats data using (column('layer')) name 'N' nooutput
stats data using (column('level')) name 'L' nooutput
stats data using (is('beta') ? column('head') : 0) name 'H' nooutput
stats data using (is('alpha')) name 'A' nooutput
stats data using (is('beta')) name 'B' nooutput
stats data using (is('lambda') ? column('value') : 0) name 'W' nooutput
layers = int(N_max) + 1; levels = int(L_max) + 1; heads = int(H_max) + 1
panels = 1 + (A_max > 0) + (B_max > 0)
array what[3]
what[1] = 'lambda'; what[2] = A_max > 0 ? 'alpha' : 'beta'; what[3] = 'beta'
of_layer(n) = (n - (layers - 1) / 2.0) * 0.7 / layers
of_head(n, h) = of_layer(n) + (h - (heads - 1) / 2.0) * 0.6 / layers / heads

wide = width_mm > 100
n_cols = wide ? panels : 1
n_rows = wide ? 1 : panels
left_mm = 14; right_mm = 3; gap_x_mm = 14; gap_y_mm = 17; top_mm = 6; legend_mm = wide ? 6 : 3 + 3.6 * (layers / 2 + 1); bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 46 : 34) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
unset mxtics
set xtics 1
set xrange [-0.5:levels - 0.5]
set xlabel 'level'
do for [k = 1:panels] {
    i = k - 1
    eval place_panel
    symbol = what[k] eq 'lambda' ? 'λ' : what[k] eq 'alpha' ? 'α' : 'β'
    set title '('.substr('abc', k, k).') '.(what[k] eq 'lambda' ? 'level in the scores' : what[k] eq 'alpha' ? 'level in the output' : 'attention share')
    set ylabel 'weight '.symbol
    set yrange [0:(what[k] eq 'lambda' ? (W_max > 0.45 ? 1 : 0.5) : 1)]
    if (what[k] eq 'beta') {
        plot 0.5 with lines ls 11, for [n = 0:layers - 1] for [h = 0:heads - 1] data using (column('level') + of_head(n, h)): \
            (is('beta') && column('layer') == n && column('head') == h ? column('value') : NaN) with points lt n + 1
    } else {
        here(n) = is(what[k]) && column('layer') == n
        plot 1.0 / levels with lines ls 11, \
            for [n = 0:layers - 1] data using (column('level') + of_layer(n)):(here(n) ? column('value') - column('sd') : NaN):(0): \
                (2 * column('sd')) with vectors nohead lt n + 1 dt solid, \
            for [n = 0:layers - 1] data using (column('level') + of_layer(n)):(here(n) ? column('value') : NaN) with points lt n + 1
    }
}
eval place_legend
plot 2 notitle, for [n = 0:layers - 1] keyentry with points lt n + 1 title sprintf('layer %d', n), \
     keyentry with lines ls 11 title 'equal weights'
unset multiplot
