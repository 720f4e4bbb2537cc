package document

import "math"

// The bounds of a comparison. Within them the result is a shortest one nearly always; beyond them a longer but correct
// one.
const (
	maxSplitCost = 512        // differences that a search for the best split goes through
	maxWork      = 60_000_000 // steps of all comparisons for one result; what is left then counts as changed
)

// run says that a[a0:a1] became b[b0:b1]. One of the two may be empty.
type run struct{ a0, a1, b0, b1 int }

// compare returns the changes that make b of a, in order; between two runs at least one element is the same in both. It
// is the linear-space algorithm of Myers ("An O(ND) Difference Algorithm and Its Variations", 1986) with the way out
// that Git's xdiff takes when two sequences have little in common. It takes its steps from the work.
func compare(a, b []int, from *work) []run {
	c := comparison{a: a, b: b, removed: make([]bool, len(a)), added: make([]bool, len(b)), work: from}
	c.compare(0, len(a), 0, len(b))
	return c.runs()
}

// work counts the steps of the comparisons that make one result: many short sequences cost as much as a long one.
type work struct{ steps int }

type comparison struct {
	a, b           []int
	removed, added []bool
	forward, back  []int // by diagonal: how far in a the search has come from its beginning and from its end
	work           *work
}

// compare marks the differences of a[a0:a1] and b[b0:b1].
func (c *comparison) compare(a0, a1, b0, b1 int) {
	for {
		for a0 < a1 && b0 < b1 && c.a[a0] == c.b[b0] {
			a0, b0 = a0+1, b0+1
		}
		for a0 < a1 && b0 < b1 && c.a[a1-1] == c.b[b1-1] {
			a1, b1 = a1-1, b1-1
		}
		x, y := a0, b0
		if a0 < a1 && b0 < b1 {
			x, y = c.split(a0, a1, b0, b1)
		}
		if x == a0 && y == b0 || x == a1 && y == b1 {
			mark(c.removed[a0:a1])
			mark(c.added[b0:b1])
			return
		}
		c.compare(a0, x, b0, y)
		a0, b0 = x, y
	}
}

func mark(flags []bool) {
	for i := range flags {
		flags[i] = true
	}
}

// split returns a point on a short path from (a0, b0) to (a1, b1), or the first of these if the work is used up.
func (c *comparison) split(a0, a1, b0, b1 int) (x, y int) {
	if need := len(c.a) + len(c.b) + 3; c.forward == nil {
		c.forward, c.back = make([]int, need), make([]int, need)
	}
	low, high := a0-b1, a1-b0
	zero := len(c.b) + 1 // the place of diagonal 0
	first, last := a0-b0, a1-b1
	odd := (first-last)&1 != 0
	fmin, fmax, bmin, bmax := first, first, last, last
	forward, back := c.forward, c.back
	forward[zero+first], back[zero+last] = a0, a1
	for cost := 1; ; cost++ {
		if fmin > low {
			fmin--
			forward[zero+fmin-1] = -1
		} else {
			fmin++
		}
		if fmax < high {
			fmax++
			forward[zero+fmax+1] = -1
		} else {
			fmax--
		}
		for d := fmax; d >= fmin; d -= 2 {
			x = max(forward[zero+d-1]+1, forward[zero+d+1])
			from := x
			for y = x - d; x < a1 && y < b1 && c.a[x] == c.b[y]; x, y = x+1, y+1 {
			}
			forward[zero+d] = x
			c.work.steps += x - from + 1
			if odd && bmin <= d && d <= bmax && back[zero+d] <= x {
				return x, y
			}
		}
		if bmin > low {
			bmin--
			back[zero+bmin-1] = math.MaxInt
		} else {
			bmin++
		}
		if bmax < high {
			bmax++
			back[zero+bmax+1] = math.MaxInt
		} else {
			bmax--
		}
		for d := bmax; d >= bmin; d -= 2 {
			x = min(back[zero+d-1], back[zero+d+1]-1)
			from := x
			for y = x - d; x > a0 && y > b0 && c.a[x-1] == c.b[y-1]; x, y = x-1, y-1 {
			}
			back[zero+d] = x
			c.work.steps += from - x + 1
			if !odd && fmin <= d && d <= fmax && x <= forward[zero+d] {
				return x, y
			}
		}
		if c.work.steps > maxWork {
			return a0, b0
		}
		if cost >= maxSplitCost {
			break
		}
	}
	// The furthest that either search has come.
	fx, fy, reached := a0, b0, a0+b0
	for d := fmax; d >= fmin; d -= 2 {
		x := min(forward[zero+d], a1, b1+d)
		if y := x - d; x+y > reached {
			fx, fy, reached = x, y, x+y
		}
	}
	bx, by, left := a1, b1, a1+b1
	for d := bmax; d >= bmin; d -= 2 {
		x := max(back[zero+d], a0, b0+d)
		if y := x - d; x+y < left {
			bx, by, left = x, y, x+y
		}
	}
	if a1+b1-left < reached-a0-b0 {
		return fx, fy
	}
	return bx, by
}

// runs returns what is marked.
func (c *comparison) runs() []run {
	var found []run
	i, j := 0, 0
	for i < len(c.a) || j < len(c.b) {
		r := run{a0: i, b0: j}
		for i < len(c.a) && c.removed[i] {
			i++
		}
		for j < len(c.b) && c.added[j] {
			j++
		}
		if r.a1, r.b1 = i, j; r.a1 > r.a0 || r.b1 > r.b0 {
			found = append(found, r)
			continue
		}
		i, j = i+1, j+1
	}
	return found
}

// numbers gives strings numbers so that equal ones have one number.
type numbers map[string]int

func (n numbers) of(texts []string) []int {
	ids := make([]int, len(texts))
	for i, text := range texts {
		id, known := n[text]
		if !known {
			id = len(n)
			n[text] = id
		}
		ids[i] = id
	}
	return ids
}
