package span

// Key is the name of an attribute.
type Key string

// Attribute is a key with its value, of one of four types.
type Attribute struct {
	key      Key
	kind     valueKind
	text     string
	texts    []string
	integer  int64
	fraction float64
}

type valueKind int

const (
	kindText valueKind = iota
	kindTexts
	kindInteger
	kindFraction
)

// String returns an attribute with a text.
func (k Key) String(value string) Attribute { return Attribute{key: k, text: value} }

// Strings returns an attribute with a list of texts.
func (k Key) Strings(values ...string) Attribute {
	return Attribute{key: k, kind: kindTexts, texts: values}
}

// Int returns an attribute with an integer.
func (k Key) Int(value int) Attribute { return k.Int64(int64(value)) }

// Int64 returns an attribute with an integer.
func (k Key) Int64(value int64) Attribute {
	return Attribute{key: k, kind: kindInteger, integer: value}
}

// Float64 returns an attribute with a number.
func (k Key) Float64(value float64) Attribute {
	return Attribute{key: k, kind: kindFraction, fraction: value}
}
