#!/bin/sh
# Makes the traces in this directory from generated moving pictures. Needs ffmpeg with libx264 and nothing else.
#
# Usage: traces/make.sh [directory for the videos, kept if given]
#
# Pictures are 384x288 at 25 frames/s; MPEG-1 in the cycle IBBPBBPBBPBB at a constant quantiser, as the traces of
# Rose (1995) that the papers replay, so that the frame size follows the picture and not a rate control.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -r "$work"' EXIT
mkdir -p "$work"

ffmpeg='ffmpeg -v error -y -nostdin'
shape='size=384x288:rate=25'
mpeg1='-c:v mpeg1video -qscale:v 12 -g 12 -bf 2 -b_strategy 0 -sc_threshold 1000000000 -threads 1'
h264='-c:v libx264 -preset medium -crf 26 -threads 1'
# 2998 frames: the last is then a P, and no B is left over that the coder would have to code otherwise.
exact='-frames:v 2998 -fflags +bitexact -flags:v +bitexact -pix_fmt yuv420p'

# Seeds and colours are all given: what ffmpeg is not told it draws anew in every run.
# film: eleven shots of unlike length, motion and detail with hard cuts between them, and grain over all of it.
film="
  mandelbrot=$shape:start_scale=2:end_scale=0.002:end_pts=400,trim=duration=14[a];
  testsrc2=$shape,rotate='0.3*sin(t)',trim=duration=6[b];
  life=size=96x72:rate=5:seed=11:ratio=0.28:mold=12:life_color=#d8c8a0:death_color=#503018:mold_color=#101820,
    scale=384:288,fps=25,trim=duration=9[c];
  gradients=$shape:seed=5:speed=0.02:nb_colors=6:c0=#204060:c1=#c0a070:c2=#306030:c3=#e0e0d0:c4=#702020:c5=#101018,trim=duration=17[d];
  cellauto=$shape:rule=110:seed=7:scroll=1,scale=768:576,crop=384:288:'192+150*sin(t)':'144+90*cos(t)',trim=duration=5[e];
  mandelbrot=$shape:start_x=-1.25066:start_y=0.02012:start_scale=0.2:end_scale=0.00005:end_pts=300,hue=h=140,trim=duration=12[f];
  smptehdbars=$shape,scroll=h=0.012,gblur=sigma=2,trim=duration=8[g];
  testsrc2=$shape,zoompan=z='1+0.008*on':d=1:s=384x288:fps=25,hue=h=60*t,trim=duration=7[h];
  gradients=$shape:seed=23:speed=0.06:nb_colors=3:c0=#d08030:c1=#203050:c2=#608060,trim=duration=20[i];
  life=size=64x48:rate=8:seed=3:ratio=0.5:mold=40:life_color=#90b0d0:death_color=#203040:mold_color=#000000,
    scale=384:288,fps=25,trim=duration=8[j];
  mandelbrot=$shape:start_x=-0.7453:start_y=0.1127:start_scale=0.02:end_scale=0.0008:end_pts=350,hue=h=220:s=0.6,trim=duration=14[k];
  [a][b][c][d][e][f][g][h][i][j][k]concat=n=11:v=1:a=0,noise=alls=4:allf=t:all_seed=1,format=yuv420p[out0]"

# sport: one camera that never rests over a detailed ground, with things that run through the picture.
sport="
  mandelbrot=size=1536x1152:rate=25:start_x=-0.7435:start_y=0.1314:start_scale=0.02:end_scale=0.02,trim=end_frame=1,
    loop=loop=-1:size=1,setpts=N/25/TB,crop=384:288:'576+560*sin(0.9*t)*sin(0.23*t)':'432+420*sin(0.61*t)',hue=h=90:s=0.7[ground];
  testsrc2=size=48x64:rate=25[one]; life=size=40x56:rate=25:seed=4:ratio=0.4[two];
  [ground][one]overlay=x='168+160*sin(2.3*t)':y='112+100*sin(1.7*t)'[with];
  [with][two]overlay=x='172+165*cos(3.1*t)':y='116+105*cos(1.3*t)',
  noise=alls=4:allf=t:all_seed=2,trim=duration=120,format=yuv420p[out0]"

# talk: a studio that stands still, a head that moves in it, and a cut to the other camera every ten seconds.
talk="
  gradients=$shape:seed=9:speed=0.00001:nb_colors=4:c0=#405070:c1=#90a0a0:c2=#302820:c3=#b09080[left]; smptehdbars=$shape,hue=s=0.4,gblur=sigma=6[right];
  testsrc2=size=96x112:rate=25,split[head][other];
  [left][head]overlay=x='144+9*sin(1.9*t)':y='96+5*sin(3.7*t)',trim=duration=120[one];
  [right][other]overlay=x='70+7*sin(1.3*t)':y='90+6*sin(2.9*t)',trim=duration=120[two];
  [one][two]overlay=enable='gte(mod(t,20),10)',noise=alls=3:allf=t:all_seed=3,trim=duration=120,format=yuv420p[out0]"

# frames name: one row a frame, in display order: section, presentation time in seconds, coded size in bytes, picture
# type. The rows of side data (MPEG-1's pan and scan, H.264's encoder banner) would double the files and say nothing.
frames() {
  ffprobe -v error -select_streams v:0 -show_entries frame=pts_time,pkt_size,pict_type -of csv "$work/$1.mp4" |
    sed -n 's/^\(frame,[^,]*,[^,]*,[^,]*\).*/\1/p' > "$here/$1.csv"
}

for content in film sport talk; do
  eval "graph=\$$content"
  $ffmpeg -f lavfi -i "$graph" $mpeg1 $exact "$work/mpeg1-$content.mp4"
  frames "mpeg1-$content"
done
$ffmpeg -f lavfi -i "$film" $h264 $exact "$work/h264-film.mp4"
frames h264-film
