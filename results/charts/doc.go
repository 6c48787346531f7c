// Package charts draws a run as SVG: throughput against workers, latency by
// percentile, fairness beside throughput, and every repetition as a dot.
//
// Axes, ticks, layout and the measuring of text are those of
// github.com/go-analyze/charts/chartdraw. It draws on a renderer of this
// package, which writes classes where the library's own writes colours: a chart
// inside a page follows the page, dark or light, and a file has the same rules
// of its own (CSS). Nothing is random, and no clock is read: the same report
// gives the same bytes.
//
// Importing the package loads no font; the first chart does. The program that
// links it is also the child process of every repetition (docs/adr/0012).
package charts
