# matrices.gp - score matrices of one head for one sequence, from matrices.tsv (hkt-analyze scores): a panel per level at the level's own
# resolution, and the hierarchical sum. One colour scale; masked entries are grey. Of several heads the first is drawn.
load plots.'/style.gp'
set datafile missing NaN # leaves other matrices out
data = from.'/matrices.tsv'
stats data using (column('layer')) every ::0::0 name 'N' nooutput
stats data using (column('head')) every ::0::0 name 'H' nooutput
is_here(name) = column('layer') == N_min && column('head') == H_min && stringcolumn('level') eq name
is_used(x) = column('layer') == N_min && column('head') == H_min && stringcolumn('mask') eq 'used'
stats data using (is_used(0) && stringcolumn('level') ne 'NA' ? real(stringcolumn('level')) : 0) name 'L' nooutput
stats data using (is_used(0) ? abs(column('score')) : NaN) name 'S' nooutput
stats data using (is_used(0) && stringcolumn('level') eq 'NA' ? column('i') : NaN) name 'T' nooutput
stats data using (stringcolumn('mask') eq 'masked') name 'M' nooutput
levels = int(L_max) + 1
tokens = T_max + 1
panel_name(i) = i < levels ? sprintf('%d', i) : 'NA' # of column level
array lambda[levels]
do for [i = 0:levels - 1] {
    stats data using (is_here(panel_name(i)) ? column('lambda') : NaN) name 'W' nooutput
    lambda[i + 1] = W_max
}

wide = width_mm > 100
n_cols = wide ? (levels < 4 ? levels + 1 : 4) : 2
n_rows = levels / n_cols + 1
left_mm = 12; right_mm = 3; gap_x_mm = wide ? 6 : 5; gap_y_mm = 16; top_mm = 9; legend_mm = 13; bottom_mm = legend_mm + 13
panel_mm = (real(width_mm) - left_mm - right_mm - (n_cols - 1) * gap_x_mm) / n_cols
height_mm = top_mm + bottom_mm + n_rows * panel_mm + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
set palette defined (-1 '#0072B2', -0.5 '#7FB8D8', 0 '#FFFFFF', 0.5 '#EAAE7F', 1 '#D55E00', 1.001 '#DDDDDD', 1.1 '#DDDDDD') # beyond 1: masked
set cbrange [-S_max:1.1 * S_max]
unset colorbox
unset grid
set border 15 lw 0.8
unset mxtics
set xrange [0:tokens]
set yrange [tokens:0]
step = tokens <= 20 ? 5 : tokens <= 40 ? 10 : tokens <= 100 ? 20 : tokens <= 250 ? 50 : 100
set xtics step
set ytics step
do for [i = 0:levels] {
    eval place_panel
    set title (i < levels ? sprintf('level %d', i)."\n".sprintf('λ = %.2f', lambda[i + 1]) : "sum over levels\n")
    set xlabel (i + n_cols > levels ? 'key token' : '')
    set ylabel (i % n_cols == 0 ? 'query token' : '')
    set format y (i % n_cols == 0 ? '%g' : '')
    plot data using (is_here(panel_name(i)) ? (column('j') + 0.5) * column('factor') : NaN):((column('i') + 0.5) * column('factor')): \
        (is_used(0) ? column('score') : 1.1 * S_max) with image
}
# The colour scale, alone in the strip below.
set lmargin at screen 0.3; set rmargin at screen 0.7; set bmargin at screen y_mm(9); set tmargin at screen y_mm(legend_mm)
unset title
set format x '%.3g'
set xrange [-S_max:S_max]; set yrange [0:1]
score_step = wide ? S_max / 2 : S_max
set xtics score_step
unset ytics
set xlabel (M_max > 0 ? 'score (grey: masked)' : 'score') offset 0,(format eq 'svg' ? 1.0 : 0.8)
unset ylabel
set samples 101
plot '+' using 1:(1):(S_max / 45):1 with boxes palette fs solid 1.0 noborder
unset multiplot
