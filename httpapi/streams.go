package httpapi

import "slices"

// streamPath ends the path of the stream of a route that otherwise answers with JSON.
const streamPath = "/stream"

// withStreams adds for each route that can answer with a stream another route that always does, so that each operation
// of the document has one kind of answer. The first still streams if the header Accept asks for it.
func withStreams(list []route) []route {
	for i := range list {
		if r := &list[i]; r.hasStream() {
			list = append(list, r.stream())
		}
	}
	return list
}

// hasStream reports whether the route answers with a stream when the header Accept asks for it.
func (r *route) hasStream() bool {
	return r.of == "" && slices.ContainsFunc(r.headers, func(p parameter) bool { return p.name == acceptHeader().name })
}

// streams reports whether the route answers a request with a stream. The header Accept alone does not tell: any request
// may have it.
func (r *route) streams(x *exchange) bool { return x.streamed || r.hasStream() && x.wantsStream() }

// stream is the route that answers with r's stream.
func (r *route) stream() route {
	s := *r
	s.name, s.of = r.name+"Stream", r.name
	s.says = r.says + ", and watch"
	s.about = "As " + r.name + ", which says the rest; the answer is a stream. Closing it cancels nothing."
	s.paths = make([]string, 0, len(r.paths))
	for _, path := range r.paths {
		s.paths = append(s.paths, path+streamPath)
	}
	s.headers, s.answers, s.query = nil, nil, nil
	for _, p := range r.query {
		if p.name != waitName {
			s.query = append(s.query, p)
		}
	}
	for _, header := range r.headers {
		if header.name != acceptHeader().name {
			s.headers = append(s.headers, header)
		}
	}
	for _, answer := range r.answers {
		if answer.media == eventStream {
			s.answers = append(s.answers, answer)
		}
	}
	return s
}
