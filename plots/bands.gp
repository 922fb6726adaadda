# bands.gp - frequencies of the levels, from bands.tsv (hkt-analyze bands). (a) response of the downsampling filter of each level, root mean
# square over channels, for every layer, against untrained equal weights; grey lines: edges of the bands. Then, per layer, the share of each
# band in the energy of what a level holds beyond the next one (its detail): levels down, bands across; below: the same of white noise.
load plots.'/style.gp'
data = from.'/bands.tsv'
is(what) = stringcolumn('quantity') eq what
band(x) = is('detail') ? real(stringcolumn('band')) : 0
stats data using (column('layer')) name 'N' nooutput
stats data using (column('level')) name 'L' nooutput
layers = int(N_max) + 1; levels = int(L_max) + 1
shown = layers < 3 ? layers : 3

wide = width_mm > 100
n_cols = wide ? shown + 1 : 1
n_rows = wide ? 1 : 2
left_mm = 14; right_mm = 4; gap_x_mm = 14; gap_y_mm = 20; top_mm = 8; legend_mm = wide ? 10 : 3 + 3.6 * (levels + 2); bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 44 : 40) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
unset mxtics
i = 0
eval place_panel
set title '(a) response of the levels'
set xlabel 'frequency (π rad per token)'
set ylabel '|H|'
set xrange [0:1]
set yrange [0:1.05]
set xtics 0.25
do for [l = 1:levels - 1] {
    stats data using (is('response') && column('level') == l ? column('edge') : NaN) name 'E' nooutput
    set arrow from E_min, 0 to E_min, 1.05 nohead ls 11
}
response(l, n) = is('response') && column('level') == l && column('layer') == n
plot for [l = 1:levels - 1] for [n = 0:layers - 1] data using (response(l, n) ? column('frequency') : NaN):(column('value')) with lines lt l + 1 dt solid lw 1.0, \
     for [l = 1:levels - 1] data using (response(l, 0) ? column('frequency') : NaN):(column('reference')) with lines ls 10 lw 0.9
unset arrow

set datafile missing NaN # leaves other rows out
set palette defined (0 '#FFFFFF', 1 '#5AA5D0')
set cbrange [0:1]
unset colorbox
unset grid
set border 0
set xtics 1 scale 0
set ytics 1 scale 0
set xrange [-0.5:levels - 0.5]
set yrange [levels - 0.5:-0.5]
set xlabel 'band (0: highest)'
array name[2]
do for [k = 1:shown] {
    if (wide) {
        i = k
        eval place_panel
    } else {
        n_cols = shown; i = shown + k - 1
        gap_x_mm = 8
        eval place_panel
    }
    set title sprintf('(%s) layer %d', substr('bcd', k, k), k - 1)
    set ylabel (k == 1 ? 'level' : '')
    here(n) = is('detail') && column('layer') == n
    plot data using (here(k - 1) ? band(0) : NaN):(column('level')):(0.5):(0.5):(column('value')) with boxxyerror palette fs solid 1.0 noborder, \
         data using (here(k - 1) ? band(0) : NaN):(column('level') - 0.12):(sprintf('%.0f %%', 100 * column('value'))) with labels, \
         data using (here(k - 1) ? band(0) : NaN):(column('level') + 0.2):(sprintf('(%.0f)', 100 * column('reference'))) with labels tc rgb 0x444444 font ',6'
}
eval place_legend
set key maxcols (wide ? 3 : 1)
plot 2 notitle, for [l = 1:levels - 1] keyentry with lines lt l + 1 dt solid title sprintf('level %d', l), \
     keyentry with lines ls 10 title 'untrained', keyentry with lines ls 11 title 'band edges', \
     keyentry with boxes fs solid 1.0 noborder lc rgb 0x7FB8D8 title 'energy (white noise)'
unset multiplot
