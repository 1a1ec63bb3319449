package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

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
	plots, err := o.draw(figures)
	if err != nil {
		return err
	}
	images := make([]html.Image, len(plots))
	for i := range plots {
		images[i] = plots[i].image
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
	for i := range plots {
		if err := file(figures[i].Name+"."+o.plotFormat, func(w io.Writer) error {
			_, err := w.Write(plots[i].file)
			return err
		}); err != nil {
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

// drawn is a plot: in its own file, and on the page.
type drawn struct {
	file  []byte
	image html.Image
}

// draw draws each plot: for the page in light, and in dark where a reader may
// want that, and for a file of its own. It takes a fifth of a second for each, so
// they are drawn side by side.
func (o *analyzeOptions) draw(figures []plot.Figure) ([]drawn, error) {
	out := make([]drawn, len(figures))
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i := range figures {
		f, d := &figures[i], &out[i]
		d.image = html.Image{Name: f.Name, Title: f.Title, Alt: f.Alt, Reading: f.Reading}
		paint := func(to *[]byte, options plot.Options) {
			work.Go(func() error {
				var buf bytes.Buffer
				if err := f.Write(&buf, options); err != nil {
					return fmt.Errorf("%s: %w", f.Name, err)
				}
				*to = buf.Bytes()
				return nil
			})
		}
		paint(&d.image.PNG, plot.Options{})
		if html.Theme(o.theme) != html.Light {
			paint(&d.image.Dark, plot.Options{Theme: plot.Dark})
		}
		if !o.asOnPage() {
			paint(&d.file, o.drawing())
		}
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	if o.asOnPage() {
		for i := range out {
			out[i].file = out[i].image.PNG
		}
	}
	return out, nil
}

// asOnPage reports whether the plots' own files are those of the page.
func (o *analyzeOptions) asOnPage() bool {
	return o.drawing() == plot.Options{Format: plot.PNG, Width: plot.DefaultWidth}
}
