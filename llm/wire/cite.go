package wire

import "example.org/parley"

// Cited is what a wire says of a source: slices of a frame.
type Cited struct {
	Text, Title, URL []byte
}

// Citation is what is kept of the source of a piece of text, which begins and ends at these
// characters; false when the wire names none. An address that is too long is left out.
func (c Cited) Citation(start, end int) (parley.Citation, bool) {
	cited := parley.Citation{
		Start: start,
		End:   end,
		Text:  clipped(c.Text, parley.MaxCitedBytes),
		Title: clipped(c.Title, parley.MaxTitleBytes),
	}
	if len(c.URL) <= parley.MaxLinkBytes {
		cited.URL = clipped(c.URL, parley.MaxLinkBytes)
	}
	return cited, cited.Text != "" || cited.Title != "" || cited.URL != ""
}

// clipped is a text as the record takes it, of at most n bytes with the mark of a cut.
func clipped(text []byte, n int) string {
	if len(text) > n {
		text = text[:n] // what is cut away need not be made valid
	}
	var runes Runes
	return parley.Clip(runes.Join(text)+runes.End(), n-len("…"))
}
