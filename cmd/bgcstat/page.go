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

// plotNames are what --plots takes: the figures that there are, whether or not
// a result carries their data.
func plotNames() []string {
	figures, absent := plot.Figures(&analysis.Result{})
	var names []string
	for _, f := range figures {
		names = append(names, f.Name)
	}
	for _, a := range absent {
		names = append(names, a.Name)
	}
	return names
}

// write fills the output directory: the page, its plots and report.json.
func (o *analyzeOptions) write(u *ui, r *analysis.Result, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	images, absent, err := o.draw(r)
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
	for _, image := range images {
		if err := file(image.Name+".png", func(w io.Writer) error {
			_, err := w.Write(image.PNG)
			return err
		}); err != nil {
			return err
		}
	}
	for _, a := range absent {
		u.hintf("no %s.png: %s", a.Name, a.Why)
	}
	u.errorf("wrote %s to %s", strings.Join(names, ", "), dir)
	return nil
}

// draw gives the plots that were asked for, as far as the result carries them.
func (o *analyzeOptions) draw(r *analysis.Result) ([]html.Image, []html.Absent, error) {
	figures, without := plot.Figures(r)
	var images []html.Image
	var absent []html.Absent
	for _, f := range figures {
		if !slices.Contains(o.plots, f.Name) {
			continue
		}
		var png bytes.Buffer
		if err := f.WritePNG(&png); err != nil {
			return nil, nil, fmt.Errorf("%s.png: %w", f.Name, err)
		}
		alt := f.Title + ". " + strings.Join(f.Subtitle, " ")
		images = append(images, html.Image{Name: f.Name, Title: f.Title, Alt: alt, Reading: html.Reading(f.Name), PNG: png.Bytes()})
	}
	for _, a := range without {
		if slices.Contains(o.plots, a.Name) {
			absent = append(absent, html.Absent(a))
		}
	}
	return images, absent, nil
}
