# style.gp - the look of every figure. hkt-plot sets, before a script runs:
#   format   'pdf', 'png' or 'svg'        width_mm   85 (column) or 178 (page)
#   from     directory of the tables      out        file to write               plots   directory of the scripts
# A script loads this file, sets height_mm, runs `eval open_page`, and draws. All sizes are those of the printed figure.
set encoding utf8
set datafile separator "\t"
set datafile commentschars "#"
set decimalsign "."

# --- terminals: the same picture in all three ---------------------------------------------------------------------------
font_pt = 7.5
stroke = 0.75 # width of `lw 1` in units of 1/96 inch
png_dpi = 300.0
# pngcairo and svg count in 1/96 inch, pdfcairo in 1/72
terminal(height_mm) = \
    format eq 'png' ? sprintf("pngcairo enhanced size %d,%d font 'DejaVu Sans,%.2f' fontscale %.4f linewidth %.4f pointscale %.4f", \
        int(width_mm / 25.4 * png_dpi + 0.5), int(height_mm / 25.4 * png_dpi + 0.5), font_pt, png_dpi / 96, \
        stroke * png_dpi / 96, png_dpi / 96) : \
    format eq 'svg' ? sprintf("svg enhanced size %d,%d font 'DejaVu Sans,%.2f' linewidth %.4f background 'white'", \
        int(width_mm / 25.4 * 96 + 0.5), int(height_mm / 25.4 * 96 + 0.5), font_pt * 96 / 72, stroke) : \
    sprintf("pdfcairo enhanced color size %.2fcm,%.2fcm font 'DejaVu Sans,%.2f' fontscale 0.75 linewidth %.4f pointscale 0.75", \
        width_mm / 10.0, height_mm / 10.0, font_pt, stroke * 1.5)
open_page = "eval 'set terminal '.terminal(height_mm); set output out"

# --- colours: Okabe & Ito (2008), safe for colour-blind readers; each with its own dashes and its own point ---------------
blue = 0x0072B2; vermillion = 0xD55E00; green = 0x009E73; purple = 0xCC79A7; orange = 0xE69F00; sky = 0x56B4E9
grey = 0x777777; black = 0x000000
dot = 0.45 # point size
set linetype 1 lc rgb blue       lw 1.4 dt solid     pt 7  ps dot
set linetype 2 lc rgb vermillion lw 1.4 dt (16,6)     pt 9  ps dot * 1.2
set linetype 3 lc rgb green      lw 1.4 dt (4,4)     pt 5  ps dot * 0.9
set linetype 4 lc rgb purple     lw 1.4 dt (16,6,4,6) pt 11 ps dot * 1.2
set linetype 5 lc rgb orange     lw 1.4 dt (28,8)    pt 13 ps dot * 1.2
set linetype 6 lc rgb sky        lw 1.4 dt (10,5)     pt 6  ps dot
set linetype 7 lc rgb black      lw 1.4 dt (20,4,4,4,4,4) pt 8 ps dot * 1.2
set linetype cycle 7
set style line 10 lc rgb black lw 1.2 dt (10,5) # what is compared with: the normal density, the 4/3 line
set style line 11 lc rgb grey  lw 1.0 dt (3,5) # baselines

# --- names -------------------------------------------------------------------------------------------------------------
task_name(t) = t eq 'listops' ? 'ListOps' : t eq 'cifar10' ? 'sequential CIFAR-10' : t eq 'imdb' ? 'IMDB characters' : t

# --- Student's t: the half width, in standard errors, of a 95 % interval of a mean of n values, found by halving an interval;
# from [0, 13], which holds those of two values and more: P(|T| < t) = 1 - I_{df/(df + t^2)}(df/2, 1/2), Abramowitz & Stegun 26.7.1. `eval student(n)` sets t_975.
student(n) = sprintf("t_low = 0.0; t_high = 13.0; do for [t_step = 1:80] { t_975 = (t_low + t_high) / 2; \
    if (1 - ibeta(%d / 2.0, 0.5, %d / (%d + t_975**2)) < 0.95) { t_low = t_975 } else { t_high = t_975 } }", n - 1, n - 1, n - 1)

# --- axes --------------------------------------------------------------------------------------------------------------
set border 3 lw 0.8
set tics nomirror out scale 0.6
set xtics offset 0,0.2
set format '%h'
set minussign
set ytics offset 0.4,0
set mxtics default
set xlabel offset 0,(format eq 'svg' ? 0.85 : 0.6)
set ylabel offset 0.4,0
set title offset 0,-0.6
set grid ytics lt 1 lc rgb 0xDDDDDD lw 0.6 dt solid
set key noautotitle samplen 2.4 spacing (format eq 'svg' ? 0.85 : 1.05) # svg has taller lines of text

# --- panels: i = 0, 1, ... of n_cols x n_rows; margins and gaps in mm, outside them only labels and the legend ------------
x_mm(v) = real(v) / width_mm
y_mm(v) = real(v) / height_mm
place_panel = "\
    panel_w = (real(width_mm) - left_mm - right_mm - (n_cols - 1) * gap_x_mm) / n_cols; \
    panel_h = (real(height_mm) - top_mm - bottom_mm - (n_rows - 1) * gap_y_mm) / n_rows; \
    panel_x = left_mm + (i % n_cols) * (panel_w + gap_x_mm); \
    panel_y = bottom_mm + (n_rows - 1 - i / n_cols) * (panel_h + gap_y_mm); \
    set lmargin at screen x_mm(panel_x); set rmargin at screen x_mm(panel_x + panel_w); \
    set bmargin at screen y_mm(panel_y); set tmargin at screen y_mm(panel_y + panel_h)"

# Then the legend, alone in a strip legend_mm high at the bottom: `plot 2 notitle, keyentry ...`.
place_legend = "\
    set lmargin at screen x_mm(2); set rmargin at screen x_mm(width_mm - 2); \
    set bmargin at screen y_mm(1); set tmargin at screen y_mm(legend_mm); \
    unset border; unset tics; unset grid; unset xlabel; unset ylabel; unset title; unset logscale; \
    set xrange [0:1]; set yrange [0:1]; set key at graph 0.5, graph 0.5 center center horizontal Left reverse"
