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

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"bgcstat/analysis"
	"bgcstat/report"
	"bgcstat/report/html"
	"bgcstat/report/plot"
)

// pageOptions say what of a report goes into files, and how it looks.
type pageOptions struct {
	out    string
	plots  []string
	theme  string
	redact bool

	plotFormat string
	width      int

	page string   // "report" or "compare", what the files are called
	all  []string // names of the plots that there are
}

func (o *pageOptions) addFlags(f *pflag.FlagSet) { o.addFlagsOf(f, "report", plot.Names()) }

// addFlagsOf adds the flags of a page that is called page.html and has these
// plots.
func (o *pageOptions) addFlagsOf(f *pflag.FlagSet, page string, plots []string) {
	o.page, o.all = page, plots
	f.StringVarP(&o.out, "out", "o", "", "also write "+page+".html (one page with everything, to read or to send), "+page+".json and the plots into this `directory`")
	f.StringSliceVar(&o.plots, "plots", nil, "the plots of --out, a `list` of "+strings.Join(plots, ", ")+" (default all)")
	f.StringVar(&o.plotFormat, "plot-format", string(plot.PNG), "write the plots as `png` or svg; those inside "+page+".html are always PNG")
	f.IntVar(&o.width, "width", plot.DefaultWidth, "width of the plots in `pixels`")
	f.StringVar(&o.theme, "theme", string(html.Auto), "colours: light, dark, or `auto`, which for "+page+".html on a screen is what the reader's device prefers, and else light")
	f.BoolVar(&o.redact, "redact", false, "replace the names of databases, tables, users, hosts, directories and unusual files, and UUIDs, by short ones (db1.t3, host1), for a report that you send")
}

// check reads the flags' values.
func (o *pageOptions) check(f *pflag.FlagSet) error {
	if f.Changed("out") && o.out == "" {
		return usageError("--out is empty, want a directory")
	}
	for _, name := range []string{"plots", "plot-format", "width", "theme"} {
		if f.Changed(name) && o.out == "" {
			return usageError("--%s without --out, which writes the page and the plots", name)
		}
	}
	if !slices.Contains([]html.Theme{html.Auto, html.Light, html.Dark}, html.Theme(o.theme)) {
		return usageError("--theme is %q, want auto, light or dark", o.theme)
	}
	if !slices.Contains([]plot.Format{plot.PNG, plot.SVG}, plot.Format(o.plotFormat)) {
		return usageError("--plot-format is %q, want png or svg", o.plotFormat)
	}
	if o.width < plot.MinWidth || o.width > plot.MaxWidth {
		return usageError("--width is %d, want %d to %d", o.width, plot.MinWidth, plot.MaxWidth)
	}
	for _, name := range o.plots {
		if !slices.Contains(o.all, name) {
			return usageError("--plots has %q, want of %s", name, strings.Join(o.all, ", "))
		}
	}
	if !f.Changed("plots") {
		o.plots = o.all
	}
	return nil
}

// makeDir makes the directory: before the work, not after it. It is not that of a
// recorded run, whose report.json would be another's then.
func (o *pageOptions) makeDir() error {
	if o.out == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(o.out, runFile)); err == nil && o.page+".json" == resultFile {
		return usageError("--out: %s is a run, whose %s this would replace", o.out, resultFile)
	}
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// write fills the output directory: the page, its plots and report.json.
func (o *pageOptions) write(u *ui, r *analysis.Result, dir string) error {
	return o.writePage(u, r, nil, dir)
}

// writePage is write, of a run where that is not nil.
func (o *pageOptions) writePage(u *ui, r *analysis.Result, run *analysis.Run, dir string) error {
	figures, absent := plot.Figures(r)
	return o.fill(u, dir, page{
		name: "report", figures: figures, absent: absent,
		html: func(w io.Writer, images []html.Image, absent []html.Absent, options html.Options) error {
			options.Run = run
			return html.Write(w, r, images, absent, options)
		},
		json: func(w io.Writer) error { return report.JSON(w, r) },
	})
}

// page is what goes into an output directory.
type page struct {
	name    string
	figures []plot.Figure
	absent  []plot.Absent
	html    func(w io.Writer, images []html.Image, absent []html.Absent, options html.Options) error
	json    func(w io.Writer) error
}

// fill writes the page, its plots and its JSON into a directory.
func (o *pageOptions) fill(u *ui, dir string, p page) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	figures, absent := o.chosen(p)
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
		if err := replaceFile(filepath.Join(dir, name), buf.Bytes()); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		names = append(names, name)
		return nil
	}
	if err := file(p.name+".html", func(w io.Writer) error {
		return p.html(w, images, absent, html.Options{Version: version(), Theme: html.Theme(o.theme)})
	}); err != nil {
		return err
	}
	if err := file(p.name+".json", p.json); err != nil {
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
func (o *pageOptions) drawing() plot.Options {
	out := plot.Options{Format: plot.Format(o.plotFormat), Width: o.width}
	if html.Theme(o.theme) == html.Dark {
		out.Theme = plot.Dark
	}
	return out
}

// chosen gives the plots that were asked for, as far as there are data for
// them.
func (o *pageOptions) chosen(p page) (figures []plot.Figure, absent []html.Absent) {
	for _, f := range p.figures {
		if slices.Contains(o.plots, f.Name) {
			figures = append(figures, f)
		}
	}
	for _, a := range p.absent {
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
func (o *pageOptions) draw(figures []plot.Figure) ([]drawn, error) {
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
func (o *pageOptions) asOnPage() bool {
	return o.drawing() == plot.Options{Format: plot.PNG, Width: plot.DefaultWidth}
}
