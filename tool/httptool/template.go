package httptool

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"example.org/parley"
)

// template is a URL with arguments in braces, only in its path and query: the configuration alone chooses the server.
type template struct {
	origin *url.URL // scheme and host
	parts  []part   // path and query
	names  []string // of the arguments, each once
}

// part is a piece of literal text, or an argument.
type part struct {
	text  string
	name  string // of the argument; then text is empty
	query bool   // it follows the "?"
}

// parseTemplate reads a template such as https://host/users/{id}?lang={lang}.
func parseTemplate(text string) (template, error) {
	authority := strings.Index(text, "://")
	if authority < 0 {
		return template{}, parley.InvalidField(
			"url",
			"%q is not a URL: write one such as https://api.example.com/users/{id}",
			parley.Clip(text, 128),
		)
	}
	end := len(text)
	if at := strings.IndexAny(text[authority+3:], "/?"); at >= 0 {
		end = authority + 3 + at
	}
	origin, err := url.Parse(text[:end])
	switch {
	case err != nil || origin.Hostname() == "" || origin.Scheme != "http" && origin.Scheme != "https":
		return template{}, parley.InvalidField(
			"url",
			"%q is not a server's address: write http:// or https:// and a host without arguments",
			parley.Clip(text[:end], 128),
		)
	case origin.User != nil:
		return template{}, parley.InvalidField(
			"url",
			"credentials do not belong in the URL; give them as secret_headers",
		)
	case strings.Contains(text, "#"):
		return template{}, parley.InvalidField("url", "a fragment is never sent; leave it out")
	}
	origin.Host = strings.TrimSuffix(origin.Host, ":") // as in requests, which are compared with it
	t := template{origin: origin}
	query := false
	for rest := text[end:]; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return template{}, parley.InvalidField("url", "a } is missing its {")
		}
		if before != "" {
			t.parts = append(t.parts, part{text: before})
			query = query || strings.Contains(before, "?")
		}
		if !found {
			break
		}
		name, behind, closed := strings.Cut(after, "}")
		if !closed || name == "" || strings.Contains(name, "{") {
			return template{}, parley.InvalidField("url", "an argument is written as {name}")
		}
		t.parts = append(t.parts, part{name: name, query: query})
		if !slices.Contains(t.names, name) {
			t.names = append(t.names, name)
		}
		rest = behind
	}
	return t, nil
}

// fill returns the URL for arguments. Each is escaped for its position, and none can escape from the template's path.
func (t template) fill(arguments map[string]json.RawMessage) (*url.URL, error) {
	var out strings.Builder
	out.WriteString(t.origin.String())
	for _, p := range t.parts {
		if p.name == "" {
			out.WriteString(p.text)
			continue
		}
		value, err := scalar(p.name, arguments[p.name])
		switch {
		case err != nil:
			return nil, err
		case p.query:
			out.WriteString(url.QueryEscape(value))
		case value == "":
			return nil, parley.InvalidField(p.name, "is empty, but the address needs it")
		default:
			out.WriteString(url.PathEscape(value))
		}
	}
	filled, err := url.Parse(out.String())
	if err != nil {
		return nil, parley.InvalidField("url", "the arguments do not make a valid URL")
	}
	for segment := range strings.SplitSeq(filled.Path, "/") {
		if segment == "." || segment == ".." {
			return nil, parley.InvalidField("url", "an argument must not be . or .. in the address")
		}
	}
	return filled, nil
}

// scalar returns an argument as text: a string's content, or a number or boolean unchanged. Absent and null become "".
func scalar(name string, raw json.RawMessage) (string, error) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "", nil
	case raw[0] == '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err
	case raw[0] == '{' || raw[0] == '[':
		return "", parley.InvalidField(name, "must be a string, a number or a boolean, since it is part of the address")
	}
	return string(raw), nil
}
