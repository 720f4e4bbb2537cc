package cluster

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// watchedMetrics are the processes' counters that a trial adds up.
var watchedMetrics = []string{
	"parley_fenced_writes_total",
	"parley_takeovers_total",
	"parley_lease_losses_total",
	"parley_notify_reconnects_total",
	"parley_notify_dropped_total",
}

// meter reads the metrics of all processes repeatedly, as Prometheus would: a counter that
// went back belongs to a new life.
type meter struct {
	x    *trial
	last []map[string]float64 // by process
	sum  map[string]float64
}

// readMeter is how often the metrics are read, and how long a process may take.
const readMeter = 300 * time.Millisecond

func newMeter(x *trial) *meter {
	m := &meter{x: x, sum: map[string]float64{}}
	for range x.processes {
		m.last = append(m.last, map[string]float64{})
	}
	return m
}

// run reads until ctx ends, and then once more.
func (m *meter) run(ctx context.Context) {
	for more := true; more; {
		more = pause(ctx, readMeter)
		for i := range m.x.processes {
			m.read(i)
		}
	}
	for name, sum := range m.sum {
		m.x.add(name, int(sum))
	}
}

func (m *meter) read(i int) {
	ctx, cancel := context.WithTimeout(context.Background(), readMeter)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.x.processes[i].addr+"/metrics", nil)
	if err != nil {
		m.x.problem("%v", err)
		return
	}
	request.Header.Set("Authorization", "Bearer "+m.x.accounts[0].key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return // it is dead or frozen
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		if response.StatusCode/100 == 4 {
			m.x.problem("/metrics of %s answers %s", m.x.processes[i].name, response.Status)
		}
		return
	}
	now := map[string]float64{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		name, _, _ = strings.Cut(name, "{")
		if number, err := strconv.ParseFloat(value, 64); err == nil && slices.Contains(watchedMetrics, name) {
			now[name] += number
		}
	}
	for name, value := range now {
		if before := m.last[i][name]; value >= before {
			m.sum[name] += value - before
		} else {
			m.sum[name] += value
		}
		m.last[i][name] = value
	}
}
