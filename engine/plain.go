package engine

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"example.org/parley"
)

// jsonSpace is what JSON takes for white space; bytes.TrimSpace takes more.
const jsonSpace = " \t\r\n"

// plainText parses the content that most posts have, {"text":"…"} without escapes, and returns its text and stored
// form. It costs a tenth of parley.ValidateContent, which parses everything else. Whatever it accepts, ValidateContent
// accepts with the same result.
func plainText(raw []byte) (text string, canonical []byte, ok bool) {
	rest := bytes.Trim(raw, jsonSpace)
	for _, token := range []string{"{", `"text"`, ":", `"`} {
		if rest, ok = bytes.CutPrefix(rest, []byte(token)); !ok {
			return "", nil, false
		}
		if token != `"` {
			rest = bytes.TrimLeft(rest, jsonSpace)
		}
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 || string(bytes.Trim(rest[end+1:], jsonSpace)) != "}" {
		return "", nil, false
	}
	inner := rest[:end]
	for _, c := range inner {
		if c < 0x20 || c == '\\' {
			return "", nil, false
		}
	}
	if !utf8.Valid(inner) {
		return "", nil, false
	}
	text = string(inner)
	if strings.TrimSpace(text) == "" {
		return "", nil, false
	}
	canonical, err := parley.EncodeContent(parley.UserContent{Text: text})
	return text, canonical, err == nil
}
