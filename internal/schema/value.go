package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"example.org/parley"
)

// kind is a type that JSON distinguishes. An integer is a number.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// value is a JSON value.
type value struct {
	kind    kind
	truth   bool
	text    string // of a string; for a number, its notation
	float   float64
	items   []value
	members map[string]*value
	names   []string // of the members, sorted
}

// decoder reads JSON within the budget of a check, one step per value.
type decoder struct {
	*json.Decoder
	check *check
}

// decode reads one JSON value.
func (c *check) decode(raw []byte) (value, error) {
	if treeFactor*parley.JSONHolds(raw) > maxTree {
		c.err = ErrBudget
		return value{}, c.err
	}
	d := decoder{json.NewDecoder(bytes.NewReader(raw)), c}
	d.UseNumber()
	v, err := d.next(0)
	if err != nil {
		return value{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return value{}, errors.New("there is data after the JSON value")
	}
	return v, nil
}

func (d decoder) next(depth int) (value, error) {
	if !d.check.spend(1) {
		return value{}, d.check.err
	}
	token, err := d.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return value{}, err
	}
	switch t := token.(type) {
	case bool:
		return value{kind: boolean, truth: t}, nil
	case string:
		return value{kind: text, text: t}, nil
	case json.Number:
		f, err := t.Float64()
		if err != nil || math.IsInf(f, 0) {
			return value{}, fmt.Errorf("the number %s is out of range", parley.Clip(t.String(), 32))
		}
		return value{kind: number, text: t.String(), float: f}, nil
	case json.Delim:
		if depth++; depth > maxValueDepth {
			return value{}, fmt.Errorf("the JSON nests deeper than %d levels", maxValueDepth)
		}
		if t == '[' {
			return d.list(depth)
		}
		return d.object(depth)
	}
	return value{kind: null}, nil
}

func (d decoder) list(depth int) (value, error) {
	list := value{kind: array}
	for d.More() {
		item, err := d.next(depth)
		if err != nil {
			return value{}, err
		}
		list.items = append(list.items, item)
	}
	_, err := d.Token()
	return list, err
}

// object reads the members of an object; of equal names the last counts.
func (d decoder) object(depth int) (value, error) {
	o := value{kind: object, members: map[string]*value{}}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return value{}, err
		}
		member, err := d.next(depth)
		if err != nil {
			return value{}, err
		}
		o.members[name.(string)] = &member
	}
	for name := range o.members {
		o.names = append(o.names, name)
	}
	slices.Sort(o.names)
	_, err := d.Token()
	return o, err
}

// dropNulls removes the members of an object that are null.
func (v *value) dropNulls() {
	v.names = slices.DeleteFunc(v.names, func(name string) bool {
		isNull := v.members[name].kind == null
		if isNull {
			delete(v.members, name)
		}
		return isNull
	})
}

// typeName returns a value's type in JSON Schema's terms.
func (v *value) typeName() string {
	if v.isInteger() {
		return "integer"
	}
	return [...]string{null: "null", boolean: "boolean", number: "number", text: "string", array: "array",
		object: "object"}[v.kind]
}

func (v *value) isInteger() bool { return v.kind == number && v.float == math.Trunc(v.float) }

// maxExactDigits bounds the numbers divided exactly; longer ones, and those with larger exponents, are divided in
// floating point.
const (
	maxExactDigits   = 32
	maxExactExponent = 64
)

// exact returns the number without rounding; nil if that would be too long.
func (v *value) exact() *big.Rat {
	if _, exponent, found := strings.Cut(strings.ToLower(v.text), "e"); found {
		if n, err := strconv.Atoi(exponent); err != nil || n > maxExactExponent || n < -maxExactExponent {
			return nil
		}
	}
	if len(v.text) > maxExactDigits {
		return nil
	}
	rational, _ := new(big.Rat).SetString(v.text)
	return rational
}

// multipleOf reports whether v is a whole multiple of other.
func (v *value) multipleOf(other *value) bool {
	if a, b := v.exact(), other.exact(); a != nil && b != nil {
		return a.Quo(a, b).IsInt()
	}
	_, rest := math.Modf(v.float / other.float)
	return rest == 0
}

// compare returns -1, 0 or 1, exactly if both are short.
func (v *value) compare(other *value) int {
	if a, b := v.exact(), other.exact(); a != nil && b != nil {
		return a.Cmp(b)
	}
	switch {
	case v.float < other.float:
		return -1
	case v.float > other.float:
		return 1
	}
	return 0
}

// appendKey appends a key that is the same for equal values and differs for others: JSON with sorted names, and numbers
// in one form. It stops, and returns false, once to exceeds most bytes.
func (v *value) appendKey(to []byte, most int) ([]byte, bool) {
	switch v.kind {
	case null:
		to = append(to, "null"...)
	case boolean:
		to = strconv.AppendBool(to, v.truth)
	case number:
		to = v.appendNumber(to)
	case text:
		if len(to)+len(v.text) > most {
			return to, false
		}
		to = strconv.AppendQuote(to, v.text)
	case array:
		to = append(to, '[')
		for i := range v.items {
			var ok bool
			if to, ok = v.items[i].appendKey(to, most); !ok {
				return to, false
			}
			to = append(to, ',')
		}
		to = append(to, ']')
	case object:
		to = append(to, '{')
		for _, name := range v.names {
			if len(to)+len(name) > most {
				return to, false
			}
			to = append(strconv.AppendQuote(to, name), ':')
			var ok bool
			if to, ok = v.members[name].appendKey(to, most); !ok {
				return to, false
			}
			to = append(to, ',')
		}
		to = append(to, '}')
	}
	return to, len(to) <= most
}

// appendNumber writes 1, 1.0 and 10e-1 alike, and long integers unchanged.
func (v *value) appendNumber(to []byte) []byte {
	const exactly = 1 << 53 // up to here floating point represents every integer
	if v.float == 0 {
		return append(to, '0')
	}
	if v.isInteger() && math.Abs(v.float) >= exactly && !strings.ContainsAny(v.text, ".eE") {
		return append(to, v.text...)
	}
	if rational := v.exact(); rational != nil && rational.IsInt() {
		return append(to, rational.Num().String()...)
	}
	return strconv.AppendFloat(to, v.float, 'g', -1, 64)
}
