package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"regexp/syntax"
	"strings"

	"parley"
)

// redactor hides what its patterns find from the provider: in system prompts,
// messages, and the arguments and results of tools. The record keeps the texts as
// they are. Descriptions of tools are the agent's own words and stay; what is in
// images cannot be found.
//
// A placeholder, [EMAIL_3f9a0c1d2e], is made of the workspace and the value: the
// same value has the same one in all requests of a conversation and of its forks, so
// that prefixes and what a provider signed stay as they were; and a provider, who
// does not know the workspace's id, cannot find the value by trying.
type redactor struct {
	names []string       // upper case, by pattern
	match *regexp.Regexp // a group for what looks like a placeholder, and one for each pattern
}

// placeholderDigits is the length of the number in a placeholder: with 40 bits
// two values of a conversation do not meet.
const placeholderDigits = 10

func newRedactor(patterns []parley.RedactPattern) (*redactor, error) {
	r := &redactor{}
	var groups strings.Builder
	for _, p := range patterns {
		parsed, err := syntax.Parse(p.Pattern, syntax.Perl)
		if err != nil { // its text stays out of the error: a pattern may hold a secret
			return nil, parley.InvalidField("middleware.redact", "%s: the pattern is no regular expression", parley.Clip(p.Name, parley.MaxRedactName))
		}
		if _, _, err := parley.CompilePattern(p.Pattern, parley.MaxPatternSize); err != nil { // an earlier version let it pass
			return nil, parley.InvalidField("middleware.redact", "%s: the pattern is too large once its repetitions are written out", parley.Clip(p.Name, parley.MaxRedactName))
		}
		r.names = append(r.names, strings.ToUpper(p.Name))
		groups.WriteString("|(" + ungrouped(parsed).String() + ")")
	}
	var err error
	r.match, err = regexp.Compile(`(\[(?:` + strings.Join(r.names, "|") + `)_[0-9a-f]{10}\])` + groups.String())
	if err != nil {
		return nil, parley.InvalidField("middleware.redact", "the patterns are too large together")
	}
	return r, nil
}

// ungrouped is an expression without captures.
func ungrouped(e *syntax.Regexp) *syntax.Regexp {
	if e.Op == syntax.OpCapture {
		return ungrouped(e.Sub[0])
	}
	for i := range e.Sub {
		e.Sub[i] = ungrouped(e.Sub[i])
	}
	return e
}

func (r *redactor) Name() string { return redactName }

// Request puts placeholders into a request.
func (r *redactor) Request(exchange parley.Exchange, request *parley.ModelRequest) (parley.AnswerFilter, error) {
	h := hiding{redactor: r, salt: exchange.WorkspaceID, values: map[string]string{}}
	request.System = h.text(request.System)
	for i := range request.Messages {
		parts := request.Messages[i].Parts
		for j := range parts {
			h.part(&parts[j])
		}
	}
	if len(h.values) == 0 {
		return nil, nil
	}
	return restoring(h.values), nil
}

// hiding is the work on one request.
type hiding struct {
	*redactor
	salt   parley.ID
	values map[string]string // by placeholder
}

func (h *hiding) part(part *parley.RequestPart) {
	switch part.Kind {
	case parley.PartText, parley.PartToolResult:
		part.Text = h.text(part.Text)
	case parley.PartReasoning:
		part.Text = h.text(part.Text)
		if hidden := inStrings(part.ProviderData, h.returned); string(hidden) != string(part.ProviderData) {
			part.ProviderData = nil // signed over a value that is hidden by now: it cannot go back
		}
	case parley.PartToolCall:
		part.Arguments = inStrings(part.Arguments, h.text)
		part.ProviderData = inStrings(part.ProviderData, h.returned)
	}
}

// text hides what is found in a text of the record, where even what looks like a
// placeholder is a text to be kept.
func (h *hiding) text(text string) string { return h.hide(text, false) }

// returned hides what is found in what a provider gave: its placeholders are ours.
func (h *hiding) returned(text string) string { return h.hide(text, true) }

func (h *hiding) hide(text string, keep bool) string {
	places := h.match.FindAllStringSubmatchIndex(text, -1)
	if places == nil {
		return text
	}
	var out strings.Builder
	last := 0
	for _, place := range places {
		value, group := text[place[0]:place[1]], 1
		for place[2*group] < 0 {
			group++
		}
		var name string
		switch {
		case group > 1:
			name = h.names[group-2]
		case keep:
			continue
		default:
			name = value[1 : len(value)-placeholderDigits-2]
		}
		out.WriteString(text[last:place[0]])
		out.WriteString(h.placeholder(name, value))
		last = place[1]
	}
	out.WriteString(text[last:])
	return out.String()
}

func (h *hiding) placeholder(name, value string) string {
	sum := sha256.Sum256([]byte(string(h.salt[:]) + name + "\x00" + value))
	placeholder := "[" + name + "_" + hex.EncodeToString(sum[:])[:placeholderDigits] + "]"
	h.values[placeholder] = value
	return placeholder
}
