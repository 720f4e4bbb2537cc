package parley

import "bytes"

// EachMember calls take with the members of an object of valid JSON without white space, as the record and events have
// them: the name as it is written, without quotes, and the value. It returns false for anything else that it notices.
// It does not check values, and is many times as fast as encoding/json where they are long.
func EachMember(raw []byte, take func(name, value []byte)) bool {
	return each(raw, '{', '}', func(rest []byte) int {
		name := valueEnd(rest)
		if name < 2 || rest[0] != '"' || name >= len(rest) || rest[name] != ':' {
			return 0
		}
		value := valueEnd(rest[name+1:])
		if value > 0 {
			take(rest[1:name-1], rest[name+1:name+1+value])
			return name + 1 + value
		}
		return 0
	})
}

// EachElement is EachMember for the elements of a list.
func EachElement(raw []byte, take func(value []byte)) bool {
	return each(raw, '[', ']', func(rest []byte) int {
		value := valueEnd(rest)
		if value > 0 {
			take(rest[:value])
		}
		return value
	})
}

// each calls take with the rest of an object or list for each thing in it; take returns how
// long the thing is, 0 for what it cannot read.
func each(raw []byte, open, end byte, take func(rest []byte) int) bool {
	if len(raw) < 2 || raw[0] != open || raw[len(raw)-1] != end {
		return false
	}
	for rest := raw[1 : len(raw)-1]; len(rest) > 0; {
		n := take(rest)
		switch {
		case n <= 0:
			return false
		case n == len(rest):
			return true
		case rest[n] != ',' || n+1 == len(rest):
			return false
		}
		rest = rest[n+1:]
	}
	return true
}

// valueEnd is the length of the first value of JSON without white space; 0 when there is none.
func valueEnd(raw []byte) int {
	if len(raw) == 0 {
		return 0
	}
	switch c := raw[0]; {
	case c == '"':
		return stringEnd(raw)
	case c == '{' || c == '[':
		depth := 0
		for at := 0; at < len(raw); at++ {
			switch raw[at] {
			case '"':
				n := stringEnd(raw[at:])
				if n == 0 {
					return 0
				}
				at += n - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
		}
		return 0
	case c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f' || c == 'n':
		if at := bytes.IndexAny(raw, ",]} \t\r\n"); at >= 0 {
			return at
		}
		return len(raw)
	}
	return 0
}

// stringEnd is the length of the string that JSON begins with; 0 when it does not end.
func stringEnd(raw []byte) int {
	for at := 1; at < len(raw); {
		quote := bytes.IndexByte(raw[at:], '"')
		if quote < 0 {
			return 0
		}
		quote += at
		slashes := 0
		for raw[quote-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return quote + 1
		}
		at = quote + 1
	}
	return 0
}
