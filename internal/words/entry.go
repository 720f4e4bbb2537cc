package words

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"example.org/parley/store"
)

// Entry is a text as an index stores it.
type Entry struct {
	Words  []string // in order; Filler once a word has had MaxRepeats positions
	Counts []byte   // the number of words, and the counts of repeated ones
	Size   int      // bytes of the source text
}

// Filler replaces a word that has occurred often enough. It equals no word, nor anything that Scoped makes: both begin
// with a character of no language.
const Filler = scopes + "x"

const scopes = "\ue000"

// Scoped returns a word that says where a message belongs, in addition to its own words; kind is a letter.
func Scoped(kind string, value []byte) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, len(scopes)+1+2*len(value))
	out = append(append(out, scopes...), kind...)
	for _, b := range value[:min(len(value), maxScopeBytes)] {
		out = append(out, digits[b>>4], digits[b&15])
	}
	return string(out)
}

// maxScopeBytes bounds the value in such a word: PostgreSQL accepts 2,046 bytes.
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

// The weights of Okapi BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009), with a fixed length
// instead of the average: a message's score depends only on the message and the query, so that it is the same on every
// database, stays the same while others come and go, and reveals nothing about hidden messages.
const (
	saturation = 1.2
	lengthPart = 0.75
	usualWords = 120
)

// Score returns how well a found entry fits: more occurrences of the words in a shorter text score higher. counts
// belong to the entry.
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

// timesOf returns how often a word that occurs does so; 1 for a prefix.
func timesOf(often []byte, word string) int {
	wanted := hashOf(word)
	for ; len(often) >= 5; often = often[5:] {
		if binary.BigEndian.Uint32(often) == wanted {
			return int(often[4])
		}
	}
	return 1
}
