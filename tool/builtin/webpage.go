package builtin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"example.org/parley"
)

// The bounds of pages that are read as Markdown. Other pages are read as plain text.
const (
	maxPageTags       = 100_000
	maxPageDepth      = 256
	maxPageNesting    = 16      // of lists and quotations, which indent each of their lines
	maxPageAttributes = 64      // of one element
	maxAttributeBytes = 4 << 10 // longer ones are left out: pictures in data URLs, mostly
	maxTableCells     = 50_000  // counted as the rows by the longest of them
	maxPageTitle      = 512     // bytes
)

// webPage is a page as a model reads it.
type webPage struct {
	title string
	text  string // Markdown
}

// readPage reads HTML in UTF-8. Any input gives a page, in time and memory that its length bounds: markup beyond the
// bounds above costs the page its markup, and never its text.
func readPage(ctx context.Context, source []byte, at *url.URL) webPage {
	if page, err := markdownPage(ctx, source, at); err == nil {
		return page
	}
	return plainPage(source)
}

var errPageBounds = errors.New("the page exceeds the bounds of its markup")

func markdownPage(ctx context.Context, source []byte, at *url.URL) (webPage, error) {
	if err := countTags(source); err != nil {
		return webPage{}, err
	}
	document, err := html.Parse(bytes.NewReader(source))
	if err != nil {
		return webPage{}, err
	}
	tidied := tidying{base: at}
	if err := tidied.tidy(document); err != nil {
		return webPage{}, err
	}
	body := document
	if tidied.main != nil {
		body = tidied.main
	}
	text, err := newConverter().ConvertNode(body, converter.WithContext(ctx))
	return webPage{title: tidied.title, text: shownText(string(text))}, err
}

func newConverter() *converter.Converter {
	// Nothing renders what a model reads, and escaping takes time by the square of a line's marks.
	return converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
			table.WithHeaderPromotion(true), table.WithSkipEmptyRows(true)),
	))
}

// countTags bounds what the parser builds, before it does.
func countTags(source []byte) error {
	tokens := html.NewTokenizer(bytes.NewReader(source))
	for tags := 0; ; {
		switch tokens.Next() {
		case html.ErrorToken:
			if errors.Is(tokens.Err(), io.EOF) {
				return nil
			}
			return tokens.Err()
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken, html.CommentToken:
			if tags++; tags > maxPageTags {
				return errPageBounds
			}
		}
	}
}

// tidying prepares a parsed page for the converter: it takes out what nobody reads, completes addresses, and bounds
// what the converter repeats.
type tidying struct {
	base  *url.URL
	title string
	main  *html.Node // the page's main part, if it names exactly one
}

// visit is a node that is still to be tidied.
type visit struct {
	node           *html.Node
	depth, nesting int
}

// tidy walks without recursion, because a page decides how deep its tree is.
func (t *tidying) tidy(document *html.Node) error {
	mains := 0
	for left := []visit{{node: document}}; len(left) > 0; {
		at := left[len(left)-1]
		left = left[:len(left)-1]
		if at.depth > maxPageDepth {
			return errPageBounds
		}
		if at.node.Type == html.ElementNode {
			if t.dropped(at.node) {
				at.node.Parent.RemoveChild(at.node)
				continue
			}
			t.tidyElement(&at)
			if at.node.DataAtom == atom.Main {
				t.main = at.node
				mains++
			}
		}
		for child := at.node.LastChild; child != nil; child = child.PrevSibling {
			left = append(left, visit{child, at.depth + 1, at.nesting})
		}
	}
	if mains != 1 || t.main != nil && len(textOf(t.main, leastMain)) < leastMain {
		t.main = nil
	}
	return nil
}

// leastMain is how much text a main part has: pages that scripts fill have empty ones.
const leastMain = 200

// dropped reports whether an element is not for readers; it reads those that tell about the page.
func (t *tidying) dropped(node *html.Node) bool {
	switch node.DataAtom { //nolint:exhaustive // of hundreds
	case atom.Title:
		if t.title == "" && (node.Parent.DataAtom == atom.Head || node.Parent.DataAtom == atom.Html) {
			t.title = strings.Join(strings.Fields(textOf(node, maxPageTitle)), " ")
		}
		return true
	case atom.Base:
		if address, err := t.base.Parse(attribute(node, "href")); err == nil && isWeb(address) {
			t.base = address
		}
		return true
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Canvas, atom.Iframe,
		atom.Object, atom.Embed, atom.Video, atom.Audio, atom.Select, atom.Input, atom.Textarea, atom.Button,
		atom.Dialog:
		return true
	}
	return slices.ContainsFunc(node.Attr, func(a html.Attribute) bool { return a.Key == "hidden" })
}

// tidyElement bounds an element's attributes and what it makes the converter repeat.
func (t *tidying) tidyElement(at *visit) {
	node := at.node
	node.Attr = slices.DeleteFunc(node.Attr, func(a html.Attribute) bool {
		if len(a.Val) > maxAttributeBytes {
			return true
		}
		switch a.Key {
		case "href", "src", "alt", "title", "align", "class":
			return false
		case "start":
			n, err := strconv.Atoi(a.Val)
			return err != nil || n < 0 || n > maxPageTags
		}
		return true // such as colspan, whose cells the converter would make
	})
	node.Attr = node.Attr[:min(len(node.Attr), maxPageAttributes)]
	for i := range node.Attr {
		if a := &node.Attr[i]; a.Key == "href" || a.Key == "src" {
			a.Val = t.complete(a.Val)
		}
	}
	switch node.DataAtom { //nolint:exhaustive // the others repeat nothing
	case atom.Ul, atom.Ol, atom.Blockquote:
		if at.nesting++; at.nesting > maxPageNesting {
			makeDiv(node)
		}
	case atom.Table:
		if tableCells(node) > maxTableCells {
			makeDiv(node)
		}
	}
}

// makeDiv makes an element one that the converter only looks into.
func makeDiv(node *html.Node) { node.DataAtom, node.Data = atom.Div, "div" }

// complete returns an address of the page as a whole one; "" if it leads nowhere in the web.
func (t *tidying) complete(address string) string {
	whole, err := t.base.Parse(strings.TrimSpace(address))
	if err != nil || !isWeb(whole) {
		return ""
	}
	return whole.String()
}

func isWeb(address *url.URL) bool {
	return (address.Scheme == "http" || address.Scheme == "https") && address.Host != ""
}

// tableCells returns how many cells a table has once all of its rows are as long as the longest.
func tableCells(table *html.Node) int {
	rows, longest := 0, 0
	for node := range table.Descendants() {
		if node.DataAtom != atom.Tr {
			continue
		}
		cells := 0
		for child := node.FirstChild; child != nil; child = child.NextSibling {
			if child.DataAtom == atom.Td || child.DataAtom == atom.Th {
				cells++
			}
		}
		rows, longest = rows+1, max(longest, cells)
	}
	return rows * longest
}

func attribute(node *html.Node, key string) string {
	for i := range node.Attr {
		if node.Attr[i].Key == key {
			return node.Attr[i].Val
		}
	}
	return ""
}

// textOf returns the text in a node, at most so many bytes of it.
func textOf(node *html.Node, most int) string {
	var text strings.Builder
	for left := []*html.Node{node}; len(left) > 0 && text.Len() < most; {
		at := left[len(left)-1]
		left = left[:len(left)-1]
		if at.Type == html.TextNode {
			text.WriteString(at.Data)
		}
		for child := at.LastChild; child != nil; child = child.PrevSibling {
			left = append(left, child)
		}
	}
	return parley.Clip(text.String(), most)
}

// plainPage returns the text between a page's tags.
func plainPage(source []byte) webPage {
	tokens := html.NewTokenizer(bytes.NewReader(source))
	var page webPage
	var text strings.Builder
	within := atom.Atom(0) // the element whose text is not the page's
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			page.text = shownText(text.String())
			return page
		case html.StartTagToken:
			name, _ := tokens.TagName()
			switch is := atom.Lookup(name); is { //nolint:exhaustive // the others have text
			case atom.Script, atom.Style, atom.Title, atom.Noscript, atom.Iframe, atom.Textarea:
				within = is
			case atom.P, atom.Div, atom.Br, atom.Li, atom.Tr, atom.H1, atom.H2, atom.H3, atom.H4:
				text.WriteByte('\n')
			}
		case html.EndTagToken:
			within = 0
		case html.TextToken:
			switch said := strings.Join(strings.Fields(string(tokens.Text())), " "); {
			case said == "":
			case within == atom.Title && page.title == "":
				page.title = parley.Clip(said, maxPageTitle)
			case within == 0:
				text.WriteString(said + " ")
			}
		}
	}
}

// shownText returns a text without space around it and what cannot be seen or stored.
func shownText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.TrimSpace(text)
}
