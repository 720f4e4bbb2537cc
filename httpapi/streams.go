package httpapi

import "slices"

// streamPath ends the paths of routes that answer with a stream what others answer with JSON.
const streamPath = "/stream"

// withStreams adds to each route that answers with JSON or a stream one of its own for the stream, so that each
// operation of the document has one kind of answer. The header Accept asks the first for the stream too.
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

// stream is the route of a route's stream.
func (r *route) stream() route {
	s := *r
	s.name, s.of = r.name+"Stream", r.name
	s.says = r.says + ", and watch"
	s.about = "As " + r.name + ", which says the rest; the answer is a stream. Closing it cancels nothing."
	s.paths = make([]string, 0, len(r.paths))
	for _, path := range r.paths {
		s.paths = append(s.paths, path+streamPath)
	}
	s.headers, s.answers = nil, nil
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
