package document

import (
	"fmt"
	"strconv"
	"strings"

	"example.org/parley"
)

// maxPlaces is how many places of a passage are looked for, and namedPlaces how many an error names. maxSearched bounds
// the bytes that the edits of one write search: each goes through the whole text.
const (
	maxPlaces   = 1000
	namedPlaces = 5
	maxSearched = 256 << 20
)

// ApplyEdits replaces passages of a text one after the other: each edit sees what the one before it left. It is
// CodeInvalid, with the edit's field (as "edits.1.old"), for a passage that does not occur, or that occurs several
// times and is not to be replaced everywhere; the sentence says where. Nothing is then changed.
func ApplyEdits(content string, edits []parley.TextEdit) (string, error) {
	if len(edits) > parley.MaxTextEdits {
		return "", parley.InvalidField("edits", "has more than %d edits", parley.MaxTextEdits)
	}
	searched := 0
	for i := range edits {
		if searched += len(content); searched > maxSearched {
			return "", parley.InvalidField("edits",
				"has more than %d edits, too many for a text of this length; send them in several writes", i)
		}
		var err error
		if content, err = applyEdit(fmt.Sprintf("edits.%d.old", i), content, &edits[i]); err != nil {
			return "", err
		}
	}
	return content, nil
}

func applyEdit(field, content string, edit *parley.TextEdit) (string, error) {
	if edit.Old == "" {
		return "", parley.InvalidField(field, "is empty; name the passage to replace")
	}
	if edit.Old == edit.New {
		return "", parley.InvalidField(field, "equals what would replace it; nothing would change")
	}
	count, first := 1, strings.Index(content, edit.Old)
	if first < 0 {
		return "", parley.InvalidField(field, "does not occur in the document%s", nearMiss(content, edit.Old))
	}
	if edit.All {
		count = strings.Count(content, edit.Old)
	} else if lines, more := otherPlaces(content, edit.Old, first); lines != nil {
		return "", parley.InvalidField(
			field, "occurs %s times (lines %s); add the text around it to name one place, or set all",
			atLeast(len(lines), more), named(lines))
	}
	if len(content)+count*(len(edit.New)-len(edit.Old)) > parley.MaxDocumentBytes {
		return "", tooLong()
	}
	if edit.All {
		return strings.ReplaceAll(content, edit.Old, edit.New), nil
	}
	return content[:first] + edit.New + content[first+len(edit.Old):], nil
}

// otherPlaces returns the lines of all places of a passage whose first one is known, overlapping ones too, nil if there
// is only that one; more says that there are even more.
func otherPlaces(content, old string, first int) (lines []int, more bool) {
	line, counted := 1, 0
	for at := first; ; {
		line += strings.Count(content[counted:at], "\n")
		counted = at
		lines = append(lines, line)
		next := strings.Index(content[at+1:], old)
		if next < 0 {
			break
		}
		if len(lines) == maxPlaces {
			return lines, true
		}
		at += 1 + next
	}
	if len(lines) == 1 {
		return nil, false
	}
	return lines, false
}

func atLeast(n int, more bool) string {
	if more {
		return "more than " + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// named lists the first of the lines, each once.
func named(lines []int) string {
	var texts []string
	last := 0
	for _, line := range lines {
		if line == last {
			continue
		}
		if last = line; len(texts) == namedPlaces {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, strconv.Itoa(line))
	}
	return strings.Join(texts, ", ")
}

// nearMiss says where a passage would occur if white space did not count: the slip that models and people make most.
func nearMiss(content, old string) string {
	wanted := strings.Join(strings.Fields(old), "")
	if wanted == "" {
		return ""
	}
	var squeezed strings.Builder
	squeezed.Grow(len(content))
	for _, word := range strings.Fields(content) {
		squeezed.WriteString(word)
	}
	at := strings.Index(squeezed.String(), wanted)
	if at < 0 {
		return ""
	}
	// The line of the first byte that counts.
	line := 1
	for i := range len(content) {
		switch content[i] {
		case '\n':
			line++
			continue
		case ' ', '\t', '\r', '\v', '\f':
			continue
		}
		if at == 0 {
			break
		}
		at--
	}
	return fmt.Sprintf("; it does with other white space, at about line %d", line)
}
