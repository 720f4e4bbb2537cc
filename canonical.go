package parley

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Hash is a SHA-256. The zero Hash means "none" and is JSON null.
type Hash [sha256.Size]byte

// HashOf returns the SHA-256 of data.
func HashOf(data []byte) Hash { return sha256.Sum256(data) }

// IsZero reports whether there is no hash.
func (h Hash) IsZero() bool { return h == Hash{} }

// String returns lower-case hexadecimal, "" for the zero hash.
func (h Hash) String() string {
	if h.IsZero() {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// MarshalJSON writes hexadecimal, null for the zero hash.
func (h Hash) MarshalJSON() ([]byte, error) {
	if h.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + h.String() + `"`), nil
}

// MarshalText writes hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads hexadecimal; "" is the zero hash.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*h = Hash{}
		return nil
	}
	if len(text) != 2*len(h) {
		return Errorf(CodeInvalid, "a hash has %d hexadecimal digits", 2*len(h))
	}
	if _, err := hex.Decode(h[:], text); err != nil {
		return Errorf(CodeInvalid, "a hash has hexadecimal digits only")
	}
	return nil
}

// CanonicalJSON rewrites one JSON value: object members sorted by the bytes of their names (the last of equal names
// wins), no white space, strings escaped only where JSON requires it, integers of up to 64 bits unchanged and other
// numbers in their shortest form (after RFC 8785, which would round integers).
func CanonicalJSON(raw []byte) (json.RawMessage, error) {
	if len(raw) > canonicalLarge {
		canonicalTurns <- struct{}{}
		defer func() { <-canonicalTurns }()
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	out, err := appendCanonical(make([]byte, 0, len(raw)), decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, Errorf(CodeInvalid, "there is data after the JSON value")
	}
	return out, nil
}

// Large values take turns, because the notes about the members of a large object take several times the size of its
// text.
const (
	canonicalLarge = 256 << 10
	canonicalDepth = 10_000 // as in encoding/json
)

var canonicalTurns = make(chan struct{}, 4) //nolint:gochecknoglobals // memory belongs to the process

// appendCanonical appends the next value without holding it in memory as a whole.
func appendCanonical(to []byte, from *json.Decoder, depth int) ([]byte, error) {
	token, err := from.Token()
	if err != nil {
		return nil, notJSON(err)
	}
	switch v := token.(type) {
	case bool:
		return strconv.AppendBool(to, v), nil
	case string:
		return AppendJSONString(to, v), nil
	case json.Number:
		return appendNumber(to, string(v))
	case json.Delim:
		if depth++; depth > canonicalDepth {
			return nil, Errorf(CodeInvalid, "this JSON nests deeper than %d levels", canonicalDepth)
		}
		if v == '{' {
			return appendCanonicalObject(to, from, depth)
		}
		return appendCanonicalList(to, from, depth)
	}
	return append(to, "null"...), nil
}

func notJSON(err error) error { return WrapError(CodeInvalid, err, "this is not valid JSON") }

func appendCanonicalList(to []byte, from *json.Decoder, depth int) ([]byte, error) {
	to = append(to, '[')
	for n := 0; from.More(); n++ {
		if n > 0 {
			to = append(to, ',')
		}
		var err error
		if to, err = appendCanonical(to, from, depth); err != nil {
			return nil, err
		}
	}
	if _, err := from.Token(); err != nil {
		return nil, notJSON(err)
	}
	return append(to, ']'), nil
}

// canonicalMember is the position of a member, including its name.
type canonicalMember struct {
	name     string
	from, to int
}

// appendCanonicalObject appends the members in their original order, and finally sorts them if they are out of order.
func appendCanonicalObject(to []byte, from *json.Decoder, depth int) ([]byte, error) {
	to = append(to, '{')
	start, ordered := len(to), true
	var members []canonicalMember
	for from.More() {
		token, err := from.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		name, _ := token.(string) // the decoder accepts only strings as names
		if n := len(members); n > 0 {
			ordered = ordered && members[n-1].name < name
			to = append(to, ',')
		}
		begins := len(to)
		to = append(AppendJSONString(to, name), ':')
		if to, err = appendCanonical(to, from, depth); err != nil {
			return nil, err
		}
		members = append(members, canonicalMember{name, begins, len(to)})
	}
	if _, err := from.Token(); err != nil {
		return nil, notJSON(err)
	}
	if ordered {
		return append(to, '}'), nil
	}
	slices.SortStableFunc(members, func(a, b canonicalMember) int { return strings.Compare(a.name, b.name) })
	sorted := make([]byte, 0, len(to)-start)
	for i, m := range members {
		if i+1 < len(members) && members[i+1].name == m.name { // the last one counts
			continue
		}
		if len(sorted) > 0 {
			sorted = append(sorted, ',')
		}
		sorted = append(sorted, to[m.from:m.to]...)
	}
	return append(append(to[:start], sorted...), '}'), nil
}

func appendNumber(to []byte, text string) ([]byte, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.AppendInt(to, n, 10), nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return strconv.AppendUint(to, n, 10), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, Errorf(CodeInvalid, "the number %s is out of range", Clip(text, 32))
	}
	if f == 0 {
		return append(to, '0'), nil
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(to, f, 'f', -1, 64), nil
	}
	form := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(form, "e")
	sign := exponent[:1]
	return append(to, mantissa+"e"+sign+strings.TrimLeft(exponent[1:], "0")...), nil
}

// AppendJSONString appends text as a JSON string with the fewest escapes. Invalid UTF-8 becomes U+FFFD.
func AppendJSONString(to []byte, text string) []byte {
	const digits = "0123456789abcdef"
	to = append(to, '"')
	start := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size == 1 {
				to = append(to, text[start:i]...)
				to = append(to, "\uFFFD"...)
				i++
				start = i
				continue
			}
			i += size
			continue
		}
		to = append(to, text[start:i]...)
		switch c {
		case '"', '\\':
			to = append(to, '\\', c)
		case '\n':
			to = append(to, '\\', 'n')
		case '\r':
			to = append(to, '\\', 'r')
		case '\t':
			to = append(to, '\\', 't')
		case '\b':
			to = append(to, '\\', 'b')
		case '\f':
			to = append(to, '\\', 'f')
		default:
			to = append(to, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		i++
		start = i
	}
	to = append(to, text[start:]...)
	return append(to, '"')
}
