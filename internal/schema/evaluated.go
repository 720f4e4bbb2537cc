package schema

// evaluated is what schemas have evaluated of one list or object. Nil records nothing: most schemas never need it.
type evaluated struct {
	through    int // items before this index
	items      map[int]bool
	allItems   bool
	members    map[string]bool
	allMembers bool
}

func (e *evaluated) sawItems(through int, all bool) {
	if e != nil {
		e.through, e.allItems = max(e.through, through), e.allItems || all
	}
}

func (e *evaluated) sawItem(i int) {
	if e == nil {
		return
	}
	if e.items == nil {
		e.items = map[int]bool{}
	}
	e.items[i] = true
}

func (e *evaluated) sawMember(name string) {
	if e == nil {
		return
	}
	if e.members == nil {
		e.members = map[string]bool{}
	}
	e.members[name] = true
}

func (e *evaluated) sawAllMembers() {
	if e != nil {
		e.allMembers = true
	}
}

func (e *evaluated) item(i int) bool { return e.allItems || i < e.through || e.items[i] }

func (e *evaluated) member(name string) bool { return e.allMembers || e.members[name] }

// learn adds what a fitting schema has evaluated to its caller's record. It is true unless the check has stopped.
func (c *check) learn(seen, own *evaluated) bool {
	if seen == nil || own == nil {
		return c.err == nil
	}
	if !c.spend((len(own.items) + len(own.members)) / namesPerStep) {
		return false
	}
	seen.sawItems(own.through, own.allItems)
	for i := range own.items {
		seen.sawItem(i)
	}
	for name := range own.members {
		seen.sawMember(name)
	}
	seen.allMembers = seen.allMembers || own.allMembers
	return true
}
