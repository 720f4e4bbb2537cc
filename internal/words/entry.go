package words

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"example.org/parley/store"
)

// Entry is a text as an index keeps it.
type Entry struct {
	Words  []string // in order; Filler where a word has had MaxRepeats places
	Counts []byte   // how many words there are, and how often those are there that are so more than once
	Size   int      // bytes of the text that the words were made of
}

// Filler stands in for a word that has been there often enough. No word is like it,
// nor like what Scoped makes: both begin with a character of no language.
const Filler = scopes + "x"

const scopes = "\ue000"

// Scoped is a word that says where a message is, beside those that it is made of:
// kind is a letter.
func Scoped(kind string, value []byte) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, len(scopes)+1+2*len(value))
	out = append(append(out, scopes...), kind...)
	for _, b := range value[:min(len(value), maxScopeBytes)] {
		out = append(out, digits[b>>4], digits[b&15])
	}
	return string(out)
}

// maxScopeBytes bounds the value in such a word: PostgreSQL takes 2,046 bytes.
const maxScopeBytes = 512

// EntryOf prepares a text.
func EntryOf(text string) Entry {
	text = Clipped(text)
	split := Split(text)
	entry := Entry{Words: make([]string, len(split)), Size: len(text)}
	seen := make(map[string]int, len(split))
	for i, word := range split {
		if seen[word.Text]++; seen[word.Text] > MaxRepeats {
			entry.Words[i] = Filler
		} else {
			entry.Words[i] = word.Text
		}
	}
	entry.Counts = binary.AppendUvarint(nil, uint64(len(split)))
	var often []uint64
	for word, times := range seen {
		if times > 1 {
			often = append(often, uint64(hashOf(word))<<8|uint64(min(times, 255))) //nolint:gosec // at most 255
		}
	}
	slices.Sort(often)
	for _, one := range often {
		entry.Counts = append(entry.Counts, byte(one>>32), byte(one>>24), byte(one>>16), byte(one>>8), byte(one))
	}
	return entry
}

func hashOf(word string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(word)) // never fails
	return h.Sum32()
}

// The weights of Okapi BM25 (Robertson and Zaragoza, The Probabilistic Relevance
// Framework, 2009), with a fixed length in place of the average: what a message
// scores depends on the message and the query alone, so that it is the same on every
// database, stays so while others come and go, and says nothing of what somebody may
// not see.
const (
	saturation = 1.2
	lengthPart = 0.75
	usualWords = 120
)

// Score says how well an entry that was found fits: the more often the words occur
// in a shorter text the better. counts are of the entry.
func Score(counts []byte, terms []store.SearchTerm) float64 {
	length, n := binary.Uvarint(counts)
	if n <= 0 {
		return 0
	}
	often := counts[n:]
	sum := 0.0
	for _, term := range terms {
		if term.Without {
			continue
		}
		times := 255
		for _, word := range term.Words {
			times = min(times, timesOf(often, word))
		}
		tf := float64(times)
		sum += tf * (saturation + 1) / (tf + saturation*(1-lengthPart+lengthPart*float64(length)/usualWords))
	}
	return sum
}

// timesOf is how often a word occurs that does so at all; 1 for the beginning of one.
func timesOf(often []byte, word string) int {
	wanted := hashOf(word)
	for ; len(often) >= 5; often = often[5:] {
		if binary.BigEndian.Uint32(often) == wanted {
			return int(often[4])
		}
	}
	return 1
}
