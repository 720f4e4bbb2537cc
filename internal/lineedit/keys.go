package lineedit

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// key is what a person pressed.
type key int

const (
	keyNone key = iota // nothing that has a meaning here
	keyText            // characters
	keyEnter
	keyNewLine
	keyLeft
	keyRight
	keyUp
	keyDown
	keyHome
	keyEnd
	keyWordLeft
	keyWordRight
	keyBackspace
	keyDelete
	keyDeleteWord     // back
	keyDeleteNextWord // forward
	keyKillAfter
	keyKillBefore
	keyYank
	keyClear
	keySearch
	keyAbandon
	keyTab
	keyPasteBegins
	keyPasteEnds
)

const (
	escape = 0x1b
	ctrlD  = "\x04"

	pasteOn, pasteOff    = "\x1b[?2004h", "\x1b[?2004l"
	pasteBegun, pasteEnd = "\x1b[200~", "\x1b[201~"

	maxSequence = 32 // bytes of one key
)

// controlKey is a key that sends one byte, as other line editors read it.
func controlKey(sent byte) key {
	switch sent {
	case '\r', '\n':
		return keyEnter
	case '\t':
		return keyTab
	case 'R' - '@':
		return keySearch
	case 'G' - '@':
		return keyAbandon
	case 0x7f, 'H' - '@':
		return keyBackspace
	case 'A' - '@':
		return keyHome
	case 'E' - '@':
		return keyEnd
	case 'B' - '@':
		return keyLeft
	case 'F' - '@':
		return keyRight
	case 'P' - '@':
		return keyUp
	case 'N' - '@':
		return keyDown
	case 'D' - '@':
		return keyDelete
	case 'K' - '@':
		return keyKillAfter
	case 'U' - '@':
		return keyKillBefore
	case 'W' - '@':
		return keyDeleteWord
	case 'Y' - '@':
		return keyYank
	case 'L' - '@':
		return keyClear
	}
	return keyNone
}

// sequenceKey is a key that sends several bytes, without the escape.
func sequenceKey(sent string) key {
	switch sent {
	case "[A", "OA":
		return keyUp
	case "[B", "OB":
		return keyDown
	case "[C", "OC":
		return keyRight
	case "[D", "OD":
		return keyLeft
	case "[H", "OH", "[1~", "[7~":
		return keyHome
	case "[F", "OF", "[4~", "[8~":
		return keyEnd
	case "[3~":
		return keyDelete
	case "[1;5C", "[1;3C", "f":
		return keyWordRight
	case "[1;5D", "[1;3D", "b":
		return keyWordLeft
	case "d":
		return keyDeleteNextWord
	case "\x7f", "\b":
		return keyDeleteWord
	case "\r", "\n", "[13;2u", "[13;3u", "[27;2;13~":
		return keyNewLine
	case pasteBegun[1:]:
		return keyPasteBegins
	}
	return keyNone
}

// decode reads the first key, and how many bytes it takes; 0 while its end is missing.
func decode(from []byte, pasting bool) (pressed key, size int) {
	switch {
	case len(from) == 0:
		return keyNone, 0
	case pasting:
		return decodePasted(from)
	case from[0] == escape:
		return decodeSequence(from)
	case from[0] < ' ' || from[0] == 0x7f:
		return controlKey(from[0]), 1
	}
	return decodeText(from, false)
}

// decodeText reads characters up to the next key, at once: what is pasted is long.
func decodeText(from []byte, pasting bool) (pressed key, size int) {
	for size < len(from) {
		r, n := utf8.DecodeRune(from[size:])
		switch {
		case from[size] == escape, !pasting && (r < ' ' || r == 0x7f), !utf8.FullRune(from[size:]):
		case r == utf8.RuneError && n == 1: // not UTF-8
			if size == 0 {
				return keyNone, 1
			}
		default:
			size += n
			continue
		}
		break
	}
	return keyText, size
}

// decodePasted reads text until the end of what is pasted: nothing in it is a key.
func decodePasted(from []byte) (pressed key, size int) {
	switch {
	case from[0] != escape:
		return decodeText(from, true)
	case bytes.HasPrefix(from, []byte(pasteEnd)):
		return keyPasteEnds, len(pasteEnd)
	case len(from) < len(pasteEnd) && bytes.HasPrefix([]byte(pasteEnd), from):
		return keyNone, 0
	}
	return keyNone, 1
}

// decodeSequence reads what begins with an escape: ESC and a character, or a control sequence to its final byte.
func decodeSequence(from []byte) (pressed key, size int) {
	if len(from) == 1 {
		return keyNone, 0
	}
	size = 2
	switch from[1] {
	case escape:
		return keyNone, 1
	case 'O':
		size = 3
	case '[':
		for size < len(from) && from[size] >= ' ' && from[size] < '@' {
			size++
		}
		size++ // the final byte
	}
	if size > maxSequence {
		return keyNone, size - 1
	}
	if size > len(from) {
		return keyNone, 0
	}
	return sequenceKey(string(from[1:size])), size
}

// press acts on a key that does not end the text.
func (e *Editor) press(pressed key, text string) {
	b := &e.text
	if e.searching != nil && e.pressSearching(pressed, text) {
		return
	}
	switch pressed {
	case keySearch:
		e.searchOlder()
	case keyTab:
		e.complete()
	case keyText:
		e.insert(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"))
	case keyNewLine:
		e.insert("\n")
	case keyPasteBegins, keyPasteEnds:
		e.pasting = pressed == keyPasteBegins
	case keyLeft:
		b.at = b.before(b.at)
	case keyRight:
		b.at = b.after(b.at)
	case keyWordLeft:
		b.at = b.wordBefore(b.at)
	case keyWordRight:
		b.at = b.wordAfter(b.at)
	case keyHome:
		b.at = b.lineStart(b.at)
	case keyEnd:
		b.at = b.lineEnd(b.at)
	case keyUp:
		if !b.up() {
			e.older()
		}
	case keyDown:
		if !b.down() {
			e.newer()
		}
	case keyBackspace:
		b.cut(b.before(b.at), b.at)
	case keyDelete:
		b.cut(b.at, b.after(b.at))
	case keyDeleteWord:
		e.kill(b.wordBefore(b.at), b.at)
	case keyDeleteNextWord:
		e.kill(b.at, b.wordAfter(b.at))
	case keyKillAfter:
		e.kill(b.at, b.lineEnd(b.at))
	case keyKillBefore:
		e.kill(b.lineStart(b.at), b.at)
	case keyYank:
		e.insert(e.killed)
	case keyClear:
		e.send("\x1b[H\x1b[2J")
		e.drawn, e.row, e.open = false, 0, false
	}
}

// kill takes text away and keeps it for Ctrl-Y.
func (e *Editor) kill(from, to int) {
	if from < to {
		e.killed = e.text.cut(from, to)
	}
}
