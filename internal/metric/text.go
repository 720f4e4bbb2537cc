package metric

import (
	"compress/gzip"
	"math"
	"net/http"
	"sort"
	"strconv"
	"strings"
)

// contentType names the text format.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// append writes a family after text.
func (f *Family) append(text []byte) []byte {
	text = append(text, "# HELP "...)
	text = append(append(append(text, f.Name...), ' '), helps.Replace(f.Help)...)
	text = append(text, "\n# TYPE "...)
	text = append(append(append(append(text, f.Name...), ' '), f.Kind...), '\n')
	order := make([]int, len(f.Labels)) // by name, as Prometheus' client writes them
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return f.Labels[order[i]] < f.Labels[order[j]] })
	for i := range f.Samples {
		sample := &f.Samples[i]
		text = append(append(text, f.Name...), sample.Suffix...)
		text = f.appendLabels(text, order, sample)
		text = append(appendFloat(append(text, ' '), sample.Value), '\n')
	}
	return text
}

// appendLabels writes a sample's labels in braces, in this order, and nothing if it has none.
func (f *Family) appendLabels(text []byte, order []int, sample *Sample) []byte {
	before := byte('{')
	label := func(name, value string) {
		text = append(append(append(text, before), name...), '=', '"')
		text = append(append(text, values.Replace(strings.ToValidUTF8(value, "\uFFFD"))...), '"')
		before = ','
	}
	for _, i := range order {
		label(f.Labels[i], sample.Labels[i])
	}
	switch {
	case sample.Bound == "":
	case f.Kind == KindSummary:
		label("quantile", sample.Bound)
	default:
		label("le", sample.Bound)
	}
	if before == ',' {
		text = append(text, '}')
	}
	return text
}

// appendFloat writes a number as the format has it: the shortest text that reads back as the same number.
func appendFloat(text []byte, v float64) []byte {
	if math.IsInf(v, 1) {
		return append(text, "+Inf"...)
	}
	return strconv.AppendFloat(text, v, 'g', -1, 64)
}

// Handler answers scrapes with the registry's text, compressed if the scraper takes gzip. It answers at most atOnce at
// the same time; more get 503.
func (r *Registry) Handler(atOnce int) http.Handler {
	places := make(chan struct{}, atOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			http.Error(w, "Too many scrapes at once. Try again later.", http.StatusServiceUnavailable)
			return
		}
		text := r.Text()
		header := w.Header()
		header.Set("Content-Type", contentType)
		header.Add("Vary", "Accept-Encoding")
		if !takesGzip(request.Header.Values("Accept-Encoding")) {
			_, _ = w.Write(text) // the scraper is gone: it asks again
			return
		}
		header.Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = packed.Write(text)
		_ = packed.Close()
	})
}

// takesGzip reports whether Accept-Encoding allows gzip by name.
func takesGzip(accepted []string) bool {
	for _, field := range accepted {
		for one := range strings.SplitSeq(field, ",") {
			name, parameter, _ := strings.Cut(one, ";")
			quality, weighted := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
			if weight, err := strconv.ParseFloat(quality, 64); weighted && (err != nil || weight == 0) {
				continue
			}
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				return true
			}
		}
	}
	return false
}
