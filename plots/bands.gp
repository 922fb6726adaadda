# bands.gp - frequencies of the levels, from bands.tsv (hkt-analyze bands), a row of panels per layer. Left: response of the downsampling
# filter of each level, root mean square over channels, against untrained equal weights; grey lines: edges of the bands. Right: share of
# each band in the energy of the input of a level (raw), of what it holds beyond the next level (detail), and of its output: levels down,
# bands across, per cent; in brackets: the same of white noise. At column width one panel has the responses of all layers.
load plots.'/style.gp'
data = from.'/bands.tsv'
is(what) = stringcolumn('quantity') eq what
band(x) = real(stringcolumn('band'))
stats data using (column('layer')) name 'N' nooutput
stats data using (column('level')) name 'L' nooutput
layers = int(N_max) + 1; levels = int(L_max) + 1
shown = layers < 3 ? layers : 3
array signal[3]; array title_of[3]
signal[1] = 'raw'; signal[2] = 'detail'; signal[3] = 'output'
title_of[1] = 'input'; title_of[2] = 'detail'; title_of[3] = 'output'

wide = width_mm > 100
n_rows = wide ? shown : shown + 1
left_mm = 14; right_mm = 4; gap_x_mm = wide ? 12 : 4; gap_y_mm = wide ? 14 : 20; top_mm = 8
legend_mm = 3 + 3.6 * (wide ? (levels + 4) / 2 : levels + 2); bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 36 : 24) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
unset mxtics

n_cols = wide ? 4 : 1
stats data using (is('response') ? column('value') : NaN) name 'G' nooutput
top = G_max > 1.05 ? 1.05 * G_max : 1.1
response(l, n) = is('response') && column('level') == l && column('layer') == n
do for [n = 0:(wide ? shown - 1 : 0)] {
    i = 4 * n
    eval place_panel
    set title (wide ? sprintf('layer %d: response', n) : 'response of the levels')
    set xlabel (!wide || n == shown - 1 ? 'frequency (π rad per token)' : '')
    set ylabel '|H|'
    set xrange [0:1]
    set yrange [0:top]
    set xtics 0.25
    set ytics 0.5
    do for [l = 1:levels - 1] {
        stats data using (is('response') && column('level') == l ? column('edge') : NaN) name 'E' nooutput
        set arrow from E_min, 0 to E_min, top nohead ls 11
    }
    last = wide ? n : layers - 1
    plot for [l = 1:levels - 1] for [m = n:last] data using (response(l, m) ? column('frequency') : NaN):(column('value')) with lines lt l + 1 dt solid lw 1.0, \
         for [l = 1:levels - 1] data using (response(l, n) ? column('frequency') : NaN):(column('reference')) with lines ls 10 lw 0.9
    unset arrow
}

is_share(k, n) = is(signal[k]) && column('layer') == n && column('value') >= 0
array drawn[3 * shown]
do for [n = 0:shown - 1] { do for [k = 1:3] {
    stats data using (is_share(k, n)) name 'V' nooutput
    drawn[3 * n + k] = V_max
} }
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
n_cols = wide ? 4 : 3
small = levels > 4 ? ',4' : wide ? ',6.5' : ',6'
smaller = levels > 4 ? ',3' : wide ? ',5.5' : ',5'
boxes = "data using (here(0) ? band(0) : NaN):(column('level')):(0.5):(0.5):(column('value')) with boxxyerror palette fs solid 1.0 noborder, "
shares = "data using (here(0) ? band(0) : NaN):(column('level') - (noise ? 0.14 : 0)):(sprintf('%.0f', 100 * column('value'))) with labels font small, "
brackets = "data using (here(0) ? band(0) : NaN):(column('level') + 0.22):(sprintf('(%.0f)', 100 * column('reference'))) \
    with labels tc rgb 0x444444 font smaller, "
do for [n = 0:shown - 1] { do for [k = 1:3] {
    i = wide ? 4 * n + k : 3 * (n + 1) + k - 1
    eval place_panel
    set title (wide ? sprintf('layer %d: %s', n, title_of[k]) : title_of[k])
    set ylabel (k > 1 ? '' : wide ? 'level' : sprintf("level (layer %d)", n))
    set xlabel (n == shown - 1 ? (wide ? 'band (0: highest)' : 'band') : '')
    here(x) = is_share(k, n)
    noise = k < 3
    if (drawn[3 * n + k] == 0) { set label 1 'none' at graph 0.5, graph 0.5 center }
    there = drawn[3 * n + k] > 0
    eval 'plot '.(there ? boxes.shares : '').(there && noise ? brackets : '')."-2 with lines lc rgb 'white' lw 0.1" # out of sight: never without a plot
    unset label 1
} }
eval place_legend
set key maxcols (wide ? 3 : 1)
plot 2 notitle, for [l = 1:levels - 1] keyentry with lines lt l + 1 dt solid title sprintf('level %d', l), \
     keyentry with lines ls 10 title 'untrained', keyentry with lines ls 11 title 'band edges', \
     keyentry with boxes fs solid 1.0 noborder lc rgb 0x7FB8D8 title 'share of the energy (white noise), %'
unset multiplot
