package prompt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

// redactor hides matches of its patterns from the provider: in system prompts, messages, and the arguments and results
// of tools. The record keeps the original texts. Descriptions of tools are the agent's own words and stay; text in
// images cannot be found.
//
// A placeholder, [EMAIL_3f9a0c1d2e], derives from the workspace and the value: the same value gets the same placeholder
// in all requests of a conversation and of its forks, so that prefixes and what a provider signed stay valid. A
// provider, which does not know the workspace's id, cannot find the value by trying.
//
// Results of tools are often JSON: it writes a line's end as \n and a quotation mark as \", and may quote other JSON.
// Patterns that look at what stands around a value (\b, ^, ") would miss it there, so texts are searched once more with
// these escapes read.
type redactor struct {
	name  string
	depth int            // how many levels of escapes are read
	edges bool           // whether values keep cuts of texts out
	names []string       // upper case, by pattern
	size  int            // instructions of all patterns: the cost of reading a rune
	first *regexp.Regexp // one group for placeholders, and one for each pattern
	next  *regexp.Regexp // the same after a rune of context, for the rest of a text
}

// placeholderDigits is the length of the number in a placeholder: with 40 bits two values of a conversation do not
// collide.
const placeholderDigits = 10

// placeholderBegins is the first character of every placeholder.
const placeholderBegins = "["

func newRedactor(patterns []parley.RedactPattern) (*redactor, error) {
	r := &redactor{name: redactName, depth: maxEscapes, edges: true}
	var groups strings.Builder
	for _, p := range patterns {
		parsed, err := syntax.Parse(p.Pattern, syntax.Perl)
		if err != nil { // the error omits its text: a pattern may hold a secret
			return nil, parley.InvalidField(
				"middleware.redact",
				"%s: the pattern is not a valid regular expression",
				parley.Clip(p.Name, parley.MaxRedactName),
			)
		}
		_, size, err := parley.CompilePattern(p.Pattern, maxRedactSize-r.size)
		if err != nil { // an earlier version accepted it
			return nil, parley.InvalidField(
				"middleware.redact",
				"%s: with this pattern the server's and the agent's or session's are too large, once their "+
					"repetitions are written out; repeat less, or use fewer",
				parley.Clip(p.Name, parley.MaxRedactName),
			)
		}
		r.size += size
		r.names = append(r.names, strings.ToUpper(p.Name))
		groups.WriteString("|(" + ungrouped(parsed).String() + ")")
	}
	all := `(\[(?:` + strings.Join(r.names, "|") + `)_[0-9a-f]{10}\])` + groups.String()
	var err error
	if r.first, err = regexp.Compile(all); err == nil {
		r.next, err = regexp.Compile(`\A(?s:.)(?s:.*?)(?:` + all + `)`)
	}
	if err != nil {
		return nil, parley.InvalidField("middleware.redact", "the patterns are too large together")
	}
	return r, nil
}

// ungrouped returns an expression without captures.
func ungrouped(e *syntax.Regexp) *syntax.Regexp {
	if e.Op == syntax.OpCapture {
		return ungrouped(e.Sub[0])
	}
	for i := range e.Sub {
		e.Sub[i] = ungrouped(e.Sub[i])
	}
	return e
}

func (r *redactor) Name() string { return r.name }

// Request puts placeholders into a request. If that takes too much work, or the context ends, it refuses: nothing of
// the request may be sent.
func (r *redactor) Request(
	ctx context.Context,
	exchange model.Exchange,
	request *model.Request,
) (model.AnswerFilter, error) {
	h := hiding{
		redactor: r,
		salt:     exchange.WorkspaceID,
		values:   map[string]string{},
		reading:  reading{ctx: ctx, each: int64(r.size), left: 2 * maxRedactWork},
	}
	if int64(bytesIn(request))*h.each > maxRedactWork {
		return nil, tooMuchWork()
	}
	request.System = h.text(request.System)
	for i := range request.Messages {
		parts := request.Messages[i].Parts
		for j := range parts {
			h.part(&parts[j])
		}
	}
	if h.err != nil {
		return nil, h.err
	}
	if len(h.values) == 0 {
		return nil, nil
	}
	return restoring(h.values), nil
}

// bytesIn counts the bytes to search.
func bytesIn(request *model.Request) int {
	bytes := len(request.System)
	for i := range request.Messages {
		for j := range request.Messages[i].Parts {
			part := &request.Messages[i].Parts[j]
			bytes += len(part.Text) + len(part.Arguments) + len(part.ProviderData)
		}
	}
	return bytes
}

// hiding is the work on one request.
type hiding struct {
	*redactor
	reading
	salt   parley.ID
	values map[string]string // by placeholder
}

func (h *hiding) part(part *model.Part) {
	switch part.Kind {
	case model.PartText, model.PartToolResult:
		part.Text = h.text(part.Text)
	case model.PartReasoning:
		part.Text = h.text(part.Text)
		if hidden := inStrings(part.ProviderData, h.returned); string(hidden) != string(part.ProviderData) {
			part.ProviderData = nil // signed over a value that is now hidden: it cannot be sent back
		}
	case model.PartToolCall:
		part.Arguments = inStrings(part.Arguments, h.text)
		part.ProviderData = inStrings(part.ProviderData, h.returned)
	}
}

// text hides matches in a text of the record, where even something like a placeholder is text to hide.
func (h *hiding) text(text string) string { return h.hide(text, false) }

// returned hides matches in a provider's text: placeholders in it are Parley's.
func (h *hiding) returned(text string) string { return h.hide(text, true) }

// hide replaces matches, in the text as it is and then behind its escapes.
func (h *hiding) hide(text string, keep bool) string {
	text = h.replace(text, 0, keep)
	for escaped := 1; h.mayEscape(text, escaped); escaped++ {
		text = h.replace(text, escaped, true) // the placeholders in it are Parley's now
	}
	return text
}

// mayEscape reports whether a text is to be searched with so many levels of escapes read.
func (h *hiding) mayEscape(text string, escaped int) bool {
	return escaped <= h.depth && strings.Contains(text, strings.Repeat(`\`, escaped))
}

// places returns the places in a text that are hidden, in bytes, with and without its escapes read.
func (h *hiding) places(text string) (places [][2]int) {
	for escaped := 0; escaped == 0 || h.mayEscape(text, escaped); escaped++ {
		h.matches(text, escaped, escaped > 0, func(from, to, _ int) { places = append(places, [2]int{from, to}) })
	}
	return apart(places)
}

// replace replaces the matches in a text, read through the given number of levels of escapes.
func (h *hiding) replace(text string, escaped int, keep bool) string {
	var out strings.Builder
	last := 0
	h.matches(text, escaped, keep, func(from, to, group int) {
		value := unescaped(text[from:to], escaped)
		var name string
		if group > 1 {
			name = h.names[group-2]
		} else {
			name = value[1 : len(value)-placeholderDigits-2]
		}
		out.WriteString(text[last:from])
		out.WriteString(h.placeholder(name, value))
		last = to
	})
	if last == 0 && out.Len() == 0 {
		return text
	}
	out.WriteString(text[last:])
	return out.String()
}

// matches calls a function for each match from left to right, as FindAll of package regexp finds them. keep leaves out
// placeholders.
func (h *hiding) matches(text string, escaped int, keep bool, found func(from, to, group int)) {
	h.escaped = escaped
	ended, before := -1, 0
	for at := 0; at <= len(text); {
		from, to, group := h.find(text, before, at)
		if group == 0 {
			return
		}
		empty := to == at
		if before, at = lastRune(text, at, to, escaped), to; empty {
			_, width := runeOf(text[at:], escaped)
			before, at = at, at+max(width, 1)
		}
		earlier := ended
		if ended = to; empty && from == earlier || group == 1 && keep {
			continue
		}
		found(from, to, group)
	}
}

// find returns the first match in a text from a position on, and its group; group 0 means none. The rune before the
// position begins at before.
func (h *hiding) find(text string, before, at int) (from, to, group int) {
	expression, start := h.first, at
	if at > 0 { // the preceding text matters: \b looks at it, and ^ must not match
		expression, start = h.next, before
	}
	h.rest = text[start:]
	places := expression.FindReaderSubmatchIndex(&h.reading)
	if h.err != nil || places == nil {
		return 0, 0, 0
	}
	for group = 1; places[2*group] < 0; group++ {
	}
	return start + places[2*group], start + places[2*group+1], group
}

func (h *hiding) placeholder(name, value string) string {
	sum := sha256.Sum256([]byte(string(h.salt[:]) + name + "\x00" + value))
	placeholder := "[" + name + "_" + hex.EncodeToString(sum[:])[:placeholderDigits] + "]"
	h.values[placeholder] = value
	return placeholder
}

const (
	// maxRedactSize is for the server's patterns plus those of an agent or session.
	maxRedactSize = 2 * parley.MaxRedactSize
	// maxRedactWork bounds the search of one request: the patterns' instructions times the runes read. It takes about
	// one to ten seconds. What is read again, behind matches and behind escapes, may take as much once more.
	maxRedactWork = 1 << 29
	// workPerLook is the work between two checks of the context.
	workPerLook = 1 << 20
)

func tooMuchWork() error {
	return parley.Errorf(
		parley.CodeInvalid,
		"Nothing was sent: searching so much text with these redact patterns takes too long. Use fewer or smaller "+
			"patterns, or a shorter context.",
	)
}

// reading feeds texts to regular expressions rune by rune. It counts the runes read, which may exceed the text where
// they look past a match, and stops them at the bound or when the context ends.
type reading struct {
	ctx  context.Context //nolint:containedctx // one request's, checked while reading
	rest string
	// escaped is how many levels of escapes are read; positions stay those of the text.
	escaped int

	each int64 // work per rune
	left int64
	err  error // why the reading stopped before its end
}

// ReadRune implements io.RuneReader.
func (r *reading) ReadRune() (rune, int, error) {
	if r.rest == "" || r.err != nil {
		return 0, 0, io.EOF
	}
	before := r.left
	if r.left -= r.each; r.left < 0 {
		r.err = tooMuchWork()
	} else if before/workPerLook != r.left/workPerLook {
		r.err = context.Cause(r.ctx)
	}
	c, width := runeOf(r.rest, r.escaped)
	r.rest = r.rest[width:]
	return c, width, nil
}
