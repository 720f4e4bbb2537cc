package builtin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

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
	maxPageNodes      = 150_000 // of tags, and of open formats that the parser makes again at each of them
	maxPageDepth      = 256
	maxPageNesting    = 16      // of lists and quotations, which indent each of their lines
	maxAttributeBytes = 4 << 10 // longer ones are left out: pictures in data URLs, mostly
	maxTableCells     = 50_000  // counted as the rows by the longest of them
	maxPageTitle      = 512     // bytes
	maxBaseBytes      = 1 << 10 // of the address that a page's others begin with
	maxAddresses      = 5 << 20 // bytes of all completed addresses; further ones are left out
	maxIndentBytes    = 2 << 20 // that the lines of lists and quotations begin with
	levelBytes        = 8       // of it in each level: a number of up to six digits, a full stop, a space

	markupWithin = 5 * time.Second // for the parser; what takes longer is plain text
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
	stripped, err := strip(source)
	if err != nil {
		return webPage{}, err
	}
	ctx, stop := context.WithTimeout(ctx, markupWithin)
	defer stop()
	document, err := html.Parse(timed{ctx, bytes.NewReader(stripped)})
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

// timed ends what reads it with its context.
type timed struct {
	ctx  context.Context //nolint:containedctx // of the only call that reads
	from io.Reader
}

// Read implements io.Reader.
func (t timed) Read(into []byte) (int, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	return t.from.Read(into)
}

// stripping writes the tags that the converter needs, and bounds what the parser builds of them before it does. The
// parser compares and copies attributes, and makes formats that are open again in each block: both by the square.
type stripping struct {
	out         bytes.Buffer
	tags, nodes int
	open, floor map[atom.Atom]int // formats, and those that an end tag may not reach any more
	opened      int               // of all names
}

// strip leaves out elements that nobody reads, with all that they hold, and attributes that nobody needs.
func strip(source []byte) ([]byte, error) {
	tokens := html.NewTokenizer(bytes.NewReader(source))
	s := stripping{open: map[atom.Atom]int{}, floor: map[atom.Atom]int{}}
	skipped, depth := "", 0
	for {
		kind := tokens.Next()
		switch kind {
		case html.ErrorToken:
			if depth > 0 { // its end was not meant
				return nil, errPageBounds
			}
			if errors.Is(tokens.Err(), io.EOF) {
				return s.out.Bytes(), nil
			}
			return nil, tokens.Err()
		case html.TextToken:
			if depth == 0 {
				s.out.Write(tokens.Raw())
			}
			continue
		case html.CommentToken, html.DoctypeToken:
			continue
		}
		raw, more := tokens.TagName()
		name := string(raw)
		switch {
		case depth > 0 && name != skipped:
		case depth > 0 && kind == html.EndTagToken:
			depth--
		case depth > 0 && kind == html.StartTagToken:
			depth++
		case depth > 0:
		case kind == html.StartTagToken && unread[atom.Lookup(raw)]:
			skipped, depth = name, 1
		case unread[atom.Lookup(raw)]:
		default:
			if err := s.tag(kind, name, more, tokens); err != nil {
				return nil, err
			}
		}
	}
}

// tag writes a tag, and counts it.
func (s *stripping) tag(kind html.TokenType, name string, more bool, tokens *html.Tokenizer) error {
	is := atom.Lookup([]byte(name))
	s.tags++
	s.nodes += 1 + s.opened
	if s.tags > maxPageTags || s.nodes > maxPageNodes {
		return errPageBounds
	}
	switch {
	case barriers[is]: // end tags beyond it do not count
		maps.Copy(s.floor, s.open)
	case formats[is] && kind == html.EndTagToken:
		if s.open[is] > s.floor[is] {
			s.open[is]--
			s.opened--
		}
	case formats[is]:
		s.open[is]++
		s.opened++
	}
	if kind == html.EndTagToken {
		s.out.WriteString("</" + name + ">")
		return nil
	}
	s.out.WriteString("<" + name)
	for written := map[string]bool{}; more; {
		var key, value []byte
		key, value, more = tokens.TagAttr()
		if kept := string(key); keptAttributes[kept] && !written[kept] && len(value) <= maxAttributeBytes {
			written[kept] = true
			s.out.WriteString(" " + kept + `="` + html.EscapeString(string(value)) + `"`)
		}
	}
	s.out.WriteByte('>')
	return nil
}

//nolint:gochecknoglobals // never written
var (
	// keptAttributes are those that the converter or tidying reads. Others, such as colspan, repeat things.
	keptAttributes = map[string]bool{
		"href": true, "src": true, "alt": true, "title": true, "align": true, "class": true, "start": true,
		"hidden": true,
	}
	// unread are elements that are not for readers and that have an end. Some change how the parser reads tags.
	unread = map[atom.Atom]bool{
		atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true, atom.Math: true,
		atom.Canvas: true, atom.Iframe: true, atom.Object: true, atom.Video: true, atom.Audio: true, atom.Select: true,
		atom.Textarea: true, atom.Noembed: true, atom.Noframes: true, atom.Frameset: true,
	}
	// formats are elements that the parser opens again in the next block until they are ended.
	formats = map[atom.Atom]bool{
		atom.A: true, atom.B: true, atom.Big: true, atom.Code: true, atom.Em: true, atom.Font: true, atom.I: true,
		atom.Nobr: true, atom.S: true, atom.Small: true, atom.Strike: true, atom.Strong: true, atom.Tt: true,
		atom.U: true,
	}
	// barriers are elements in which an end tag does not end formats outside.
	barriers = map[atom.Atom]bool{
		atom.Table: true, atom.Caption: true, atom.Td: true, atom.Th: true, atom.Applet: true, atom.Marquee: true,
		atom.Button: true, atom.Colgroup: true,
	}
)

// tidying prepares a parsed page for the converter: it takes out what nobody reads, completes addresses, and bounds
// what the converter repeats.
type tidying struct {
	base  *url.URL
	title string
	main  *html.Node // the page's main part, if it names exactly one

	addresses int // bytes
	indented  int // bytes
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
		// Each line of what a list or quotation holds is indented; an element may begin and end one.
		t.indented += at.nesting * levelBytes * (1 + strings.Count(at.node.Data, "\n"))
		if at.depth > maxPageDepth || t.indented > maxIndentBytes {
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
		address, err := t.base.Parse(attribute(node, "href"))
		if err == nil && isWeb(address) && len(address.String()) <= maxBaseBytes {
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
		if a.Key != "start" {
			return false
		}
		n, err := strconv.Atoi(a.Val)
		return err != nil || n < 0 || n > maxPageTags
	})
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
	if t.addresses > maxAddresses {
		return ""
	}
	whole, err := t.base.Parse(strings.TrimSpace(address))
	if err != nil || !isWeb(whole) {
		return ""
	}
	text := whole.String()
	t.addresses += len(text)
	return text
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
