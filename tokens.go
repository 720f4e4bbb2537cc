package parley

import "unicode/utf8"

// EstimateTokens estimates how many tokens a text has for a language model, without any model's tables: it looks at
// words, numbers, signs and scripts as the tokenizer of GPT-4o (o200k) does. It stays within a few percent of that
// tokenizer for prose and code; others differ from it by a factor of their own.
func EstimateTokens[T ~string | ~[]byte](text T) int {
	var e estimate
	ascii := 0
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			e.ascii(c)
			i++
			ascii++
			continue
		}
		r, size := decodeRune(text[i:])
		e.wide(r)
		i += size
	}
	e.end()
	return (e.sum + weight - 1) / weight
}

// decodeRune decodes the first character of a text that is not all ASCII.
func decodeRune[T ~string | ~[]byte](text T) (rune, int) {
	var buffer [utf8.UTFMax]byte
	n := copy(buffer[:], text)
	return utf8.DecodeRune(buffer[:n])
}

// weight is the unit of the sums below: hundredths of a token.
const weight = 100

// The classes of characters that share tokens.
const (
	classNone = iota
	classWord
	classDigit
	classSign
	classSpace
	classLine
	classLatin // with marks: joins words
	classHangul
	classOther // alphabets that o200k splits into pieces
)

type estimate struct {
	sum   int
	class int
	run   int  // characters of the class so far
	upper bool // the last was a capital
}

func (e *estimate) ascii(c byte) {
	class := classSign
	capital := c >= 'A' && c <= 'Z'
	switch {
	case c >= 'a' && c <= 'z' || capital:
		class = classWord
	case c >= '0' && c <= '9':
		class = classDigit
	case c == ' ':
		class = classSpace
	case c == '\n' || c == '\r':
		class = classLine
	case c == '\t':
		class = classSpace
	}
	if class == classWord && e.class == classWord && capital && !e.upper { // camelCase
		e.end()
	}
	e.next(class)
	e.upper = capital
}

func (e *estimate) wide(r rune) {
	switch {
	case r < 0x250, r >= 0x1e00 && r < 0x1f00:
		e.next(classLatin)
	case r >= 0xac00 && r < 0xd7b0:
		e.next(classHangul)
	case r >= 0x2e80 && r < 0xa4d0, r >= 0xf900 && r < 0xfb00, r >= 0xff00 && r < 0xfff0:
		e.end()
		e.sum += 72 // Chinese and Japanese: common pairs are one token
	case r >= 0x2000 && r < 0x2070: // dashes, quotes
		e.next(classSign)
	case r >= 0x2100 && r < 0x2e80, r >= 0x10000:
		e.end()
		e.sum += 130 // pictures and rare signs
	default:
		e.next(classOther)
	}
	e.upper = false
}

// next adds a character to the run of its class, or begins one.
func (e *estimate) next(class int) {
	switch {
	case class == e.class:
	case class == classLine && e.class == classSign: // a line break joins the sign before it
		return
	case class == classLatin && e.class == classWord, class == classWord && e.class == classLatin:
		class = classLatin
	default:
		space := e.class == classSpace && e.run == 1 &&
			(class == classWord || class == classLatin || class == classOther || class == classHangul ||
				class == classSign)
		if space {
			e.run = 0 // it joins the following token
		}
		if e.class == classSign && e.run == 1 && class == classWord {
			e.sum -= weight / 2 // often one token with the word
		}
		e.end()
	}
	e.class = class
	e.run++
}

// end counts the finished run.
func (e *estimate) end() {
	if n := e.run; n > 0 {
		switch e.class {
		case classWord:
			e.sum += weight + max(0, n-wordLetters)*15
		case classLatin:
			e.sum += weight + max(0, n-4)*22
		case classOther:
			e.sum += weight + max(0, n-4)*25
		case classHangul:
			e.sum += max(weight, n*70)
		case classDigit:
			e.sum += (n + 2) / 3 * weight
		case classSign:
			e.sum += weight + (n-1)*30
		default:
			e.sum += weight
		}
	}
	e.class, e.run = classNone, 0
}

// wordLetters is the length up to which a word is mostly one token.
const wordLetters = 8

// contentBorders is the number of tokens of a content's JSON that no model sees.
const contentBorders = 4

// EstimateContent is EstimateTokens for a message's content, which is JSON: at least 1. Of parts it counts what a model
// reads, and of a file its name.
func EstimateContent(content []byte) int {
	n, inParts := 0, false
	count := func(value []byte) {
		if isString(value) {
			value = value[1 : len(value)-1]
		}
		n += EstimateTokens(value)
	}
	EachMember(content, func(name, value []byte) {
		switch string(name) {
		case "error":
			if isString(value) {
				count(value)
			}
		case "parts":
			inParts = EachElement(value, func(part []byte) {
				EachMember(part, func(name, value []byte) {
					switch string(name) {
					case "text", "object", "url", "title", "name":
						count(value)
					}
				})
			})
		}
	})
	if !inParts {
		n = EstimateTokens(content) - contentBorders
	}
	return max(1, n)
}
