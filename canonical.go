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

// HashOf is the SHA-256 of data.
func HashOf(data []byte) Hash { return sha256.Sum256(data) }

// IsZero reports that there is no hash.
func (h Hash) IsZero() bool { return h == Hash{} }

// String is lower-case hexadecimal, "" for the zero hash.
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

// UnmarshalText reads hexadecimal, "" as the zero hash.
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

// CanonicalJSON rewrites one JSON value: object members sorted by the bytes of
// their names (the last of equal names wins), no white space, strings escaped
// only where JSON demands it, integers of up to 64 bits as they are and other
// numbers in their shortest form (after RFC 8785, which would round integers).
func CanonicalJSON(raw []byte) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, WrapError(CodeInvalid, err, "this is not valid JSON")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, Errorf(CodeInvalid, "there is data after the JSON value")
	}
	return appendCanonical(make([]byte, 0, len(raw)), value)
}

func appendCanonical(to []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(to, "null"...), nil
	case bool:
		return strconv.AppendBool(to, v), nil
	case string:
		return AppendJSONString(to, v), nil
	case json.Number:
		return appendNumber(to, string(v))
	case []any:
		to = append(to, '[')
		for i, item := range v {
			if i > 0 {
				to = append(to, ',')
			}
			var err error
			if to, err = appendCanonical(to, item); err != nil {
				return nil, err
			}
		}
		return append(to, ']'), nil
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		to = append(to, '{')
		for i, name := range names {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(AppendJSONString(to, name), ':')
			var err error
			if to, err = appendCanonical(to, v[name]); err != nil {
				return nil, err
			}
		}
		return append(to, '}'), nil
	}
	return nil, Errorf(CodeInternal, "no JSON form for %T", value)
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

// AppendJSONString appends text as a JSON string with the fewest escapes.
// Invalid UTF-8 becomes U+FFFD.
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
