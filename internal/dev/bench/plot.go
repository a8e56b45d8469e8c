package main

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// colors distinguish series, for the color-blind too.
var colors = []color.Color{color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255}, color.RGBA{86, 180, 233, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{120, 120, 120, 255}}

// plotGrowth draws the cost of a call over the number of things.
func plotGrowth(file string, all []*growth) error {
	p := plot.New()
	p.Title.Text = "An allowed call, with more and more of something"
	p.X.Label.Text, p.Y.Label.Text = "how many", "processor time, µs"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for i, g := range all {
		points := make(plotter.XYs, len(g.micros))
		for j, micros := range g.micros {
			points[j] = plotter.XY{X: float64(g.sizes[j]), Y: micros}
			p.Y.Max = max(p.Y.Max, 1.3*micros)
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, line.Width, marks.Color = colors[i], vg.Points(1.5), colors[i]
		p.Add(line, marks)
		p.Legend.Add(g.of, line, marks)
	}
	return p.Save(18*vg.Centimeter, 10*vg.Centimeter, file)
}

// plotParts draws how the processor time of a call divides, one bar for each kind of call.
func plotParts(file string, kinds []*divided) error {
	p := plot.New()
	p.Title.Text = "Where the processor time of a call over HTTP goes"
	p.X.Label.Text = "µs"
	p.X.Min = 0
	p.Legend.Top = true
	names := make([]string, len(kinds))
	var below *plotter.BarChart
	for i, part := range parts {
		values := make(plotter.Values, len(kinds))
		for j, k := range kinds {
			names[j], values[j] = k.title, k.micros[i]
		}
		bars, err := plotter.NewBarChart(values, vg.Points(36))
		if err != nil {
			return err
		}
		bars.Horizontal, bars.Color, bars.LineStyle.Width = true, colors[i%len(colors)], 0
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		p.Legend.Add(part.title, bars)
	}
	p.NominalY(names...)
	for _, k := range kinds {
		p.X.Max = math.Max(p.X.Max, 1.45*k.total())
	}
	return p.Save(18*vg.Centimeter, 8*vg.Centimeter, file)
}
