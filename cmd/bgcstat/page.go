package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bgcstat/analysis"
	"bgcstat/report"
	"bgcstat/report/html"
	"bgcstat/report/plot"
)

// write fills the output directory: the page, its plots and report.json.
func (o *analyzeOptions) write(u *ui, r *analysis.Result, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	figures, absent := o.figures(r)
	images, err := o.draw(figures)
	if err != nil {
		return err
	}
	var names []string
	file := func(name string, to func(w io.Writer) error) error {
		var buf bytes.Buffer
		if err := to(&buf); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), buf.Bytes(), 0o666); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		names = append(names, name)
		return nil
	}
	if err := file("report.html", func(w io.Writer) error {
		return html.Write(w, r, images, absent, html.Options{Version: version(), Theme: html.Theme(o.theme)})
	}); err != nil {
		return err
	}
	if err := file("report.json", func(w io.Writer) error { return report.JSON(w, r) }); err != nil {
		return err
	}
	for i := range figures {
		f := &figures[i]
		if err := file(f.Name+"."+o.plotFormat, func(w io.Writer) error { return f.Write(w, o.drawing()) }); err != nil {
			return err
		}
	}
	for _, a := range absent {
		u.hintf("no %s.%s: %s", a.Name, o.plotFormat, a.Why)
	}
	u.errorf("wrote %s to %s", strings.Join(names, ", "), dir)
	return nil
}

// drawing is how the plots' own files are drawn.
func (o *analyzeOptions) drawing() plot.Options {
	out := plot.Options{Format: plot.Format(o.plotFormat), Width: o.width}
	if html.Theme(o.theme) == html.Dark {
		out.Theme = plot.Dark
	}
	return out
}

// figures gives the plots that were asked for, as far as the result carries
// them.
func (o *analyzeOptions) figures(r *analysis.Result) (figures []plot.Figure, absent []html.Absent) {
	all, without := plot.Figures(r)
	for _, f := range all {
		if slices.Contains(o.plots, f.Name) {
			figures = append(figures, f)
		}
	}
	for _, a := range without {
		if slices.Contains(o.plots, a.Name) {
			absent = append(absent, html.Absent(a))
		}
	}
	return figures, absent
}

// draw gives the plots of the page, which has them inside: for light, and for
// dark where a reader may want that.
func (o *analyzeOptions) draw(figures []plot.Figure) ([]html.Image, error) {
	var images []html.Image
	for i := range figures {
		f := &figures[i]
		png := func(t plot.Theme) ([]byte, error) {
			var buf bytes.Buffer
			if err := f.Write(&buf, plot.Options{Theme: t}); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			return buf.Bytes(), nil
		}
		image := html.Image{Name: f.Name, Title: f.Title, Alt: f.Alt, Reading: f.Reading}
		var err error
		if image.PNG, err = png(plot.Light); err != nil {
			return nil, err
		}
		if html.Theme(o.theme) != html.Light {
			if image.Dark, err = png(plot.Dark); err != nil {
				return nil, err
			}
		}
		images = append(images, image)
	}
	return images, nil
}
