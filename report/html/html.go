// Package html writes a result as one page that needs nothing beside it: no
// network, no script, pictures inside. It is for a phone, a screen and paper,
// in light and dark.
//
// The order of the page is that of a reader's questions: the answer, whether it
// can be trusted, the plots, the tables, and how the figures were made. What
// names in logs hold is shown, and does nothing: see report.Printable.
//
// The same result gives the same bytes; the page does not say when it was made.
package html

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/png"
	"io"
	"strings"

	"bgcstat/analysis"
	"bgcstat/report"
)

// Image is a plot of the page.
type Image struct {
	Name    string // as --plots takes it
	Title   string
	Alt     string // what it shows, for those who do not see it
	Reading string // one sentence on how to read it
	PNG     []byte // on white
	Dark    []byte // the same for a dark page, nil where there is none
}

// Absent is a plot that the result does not carry the data of.
type Absent struct {
	Name string
	Why  string
}

// Theme is the colours of a page on a screen. Paper is always white.
type Theme string

// The themes. Auto is what the reader's device prefers.
const (
	Auto  Theme = "auto"
	Light Theme = "light"
	Dark  Theme = "dark"
)

// Options are what the result does not say.
type Options struct {
	Version string // of the program, for the foot of the page
	Theme   Theme  // Auto where empty
	// Run is what was run meanwhile; nil where the result is of logs alone.
	Run *analysis.Run
}

var (
	//go:embed page.html
	pageText string
	//go:embed style.css
	styleText string
	//go:embed light.css
	lightText string
	//go:embed dark.css
	darkText string

	//go:embed parts.html
	partsText string
	//go:embed compare.html
	compareText string

	pageTemplate    = parse(pageText)
	compareTemplate = parse(compareText)
)

// parse makes the template of a page, to which the parts that all pages share
// are known.
func parse(text string) *template.Template {
	t := template.New("page").Funcs(template.FuncMap{"printable": printable, "sentences": sentences})
	return template.Must(template.Must(t.Parse(partsText)).Parse(text))
}

// Write writes the page of r with these plots. It fails where a plot is no PNG,
// the theme is unknown or w fails; nothing is written unless w fails.
func Write(w io.Writer, r *analysis.Result, figures []Image, absent []Absent, o Options) error {
	p := newPage(r)
	if o.Run != nil {
		p.Tables = append([]*table{runTable(o.Run, r)}, p.Tables...)
		p.More = append(p.More, runInWords(o.Run))
	}
	if err := p.frame.fill(figures, absent, o); err != nil {
		return err
	}
	return execute(w, pageTemplate, p)
}

// frame is what every page has around its own.
type frame struct {
	Style    template.CSS
	Version  string
	Title    string
	Answer   string   // one sentence
	More     []string // sentences that go with it
	Key      []figure
	Warnings []warning
	Pictures []picture
	Absent   []Absent

	WarningsInWords string
}

// fill takes what the result does not say.
func (p *frame) fill(figures []Image, absent []Absent, o Options) error {
	p.Absent, p.Version = absent, o.Version
	css, darkMedia, err := style(o.Theme)
	if err != nil {
		return err
	}
	p.Style = css
	for _, f := range figures {
		pic := picture{Image: f}
		if pic.Source, err = dataURL(f.PNG); err != nil {
			return fmt.Errorf("plot %s: %w", f.Name, err)
		}
		size, err := png.DecodeConfig(bytes.NewReader(f.PNG))
		if err != nil {
			return fmt.Errorf("plot %s: %w", f.Name, err)
		}
		pic.Width, pic.Height = size.Width, size.Height
		if len(f.Dark) > 0 && darkMedia != "" {
			url, err := dataURL(f.Dark)
			if err != nil {
				return fmt.Errorf("plot %s, dark: %w", f.Name, err)
			}
			pic.DarkSource, pic.DarkMedia = template.Srcset(url), darkMedia
		}
		p.Pictures = append(p.Pictures, pic)
	}
	return nil
}

// execute writes the page as a whole, or nothing where it fails.
func execute(w io.Writer, t *template.Template, p any) error {
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// picture is an image as the page has it.
type picture struct {
	Image
	Source        template.URL
	DarkSource    template.Srcset // "" where there is none
	DarkMedia     string
	Width, Height int
}

func dataURL(b []byte) (template.URL, error) {
	if _, err := png.DecodeConfig(bytes.NewReader(b)); err != nil {
		return "", err
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b)), nil
}

// style gives the style sheet, and the media for which the page is dark, "" for
// none.
func style(t Theme) (css template.CSS, darkMedia string, err error) {
	switch t {
	case Auto, "":
		darkMedia = "screen and (prefers-color-scheme: dark)"
	case Dark:
		darkMedia = "screen"
	case Light:
		return template.CSS(lightText + styleText), "", nil
	default:
		return "", "", fmt.Errorf("theme is %q, want auto, light or dark", string(t))
	}
	return template.CSS(lightText + "@media " + darkMedia + " {\n" + darkText + "}\n" + styleText), darkMedia, nil
}

// longest is how many characters of a name are shown. A name of a server's is
// at most 129, a path may be longer. What is said in sentences may take more.
const (
	longest          = 300
	longestSentences = 1500
)

// printable makes text of whatever a log holds: nothing in it is invisible or
// turns the text around it, and it is not so long that it hides the rest.
func printable(s string) string { return upTo(longest, s) }

// sentences is printable for text of ours, into which names may be woven.
func sentences(s string) string { return upTo(longestSentences, s) }

func upTo(most int, s string) string {
	// A number and its % stay in one line.
	runes := []rune(strings.ReplaceAll(report.Printable(s), " %", "\u00a0%"))
	if n := len(runes); n > most {
		head := most * 2 / 3
		return fmt.Sprintf("%s… (%s characters) …%s", string(runes[:head]), report.Count(int64(n)), string(runes[n-(most-head):]))
	}
	return string(runes)
}
