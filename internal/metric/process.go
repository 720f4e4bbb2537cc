package metric

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// ticks is how many units of processor time in /proc make a second: USER_HZ, which Linux fixes at 100.
const ticks = 100

// Process collects the metrics of this process from /proc. Without it, as on other systems, there are none.
type Process struct{ dir string }

// NewProcess returns the collector.
func NewProcess() Process { return Process{dir: "/proc"} }

// processDescs describe the metrics in the order in which Collect reads them.
func processDescs() [9]Desc {
	gauge := func(name, help string) Desc { return Desc{Name: name, Help: help, Kind: KindGauge} }
	counter := func(name, help string) Desc { return Desc{Name: name, Help: help, Kind: KindCounter} }
	return [...]Desc{
		counter("process_cpu_seconds_total", "Processor time, of the user and the system, in seconds."),
		gauge("process_virtual_memory_bytes", "Virtual memory."),
		gauge("process_resident_memory_bytes", "Resident memory."),
		gauge("process_start_time_seconds", "When the process started, in Unix time."),
		gauge("process_open_fds", "Open file descriptors."),
		gauge("process_max_fds", "The most file descriptors that may be open."),
		gauge("process_virtual_memory_max_bytes", "The most virtual memory."),
		counter("process_network_receive_bytes_total", "Bytes received, in the process's network namespace."),
		counter("process_network_transmit_bytes_total", "Bytes sent, in the process's network namespace."),
	}
}

// Describe implements Collector.
func (Process) Describe() []Desc {
	descs := processDescs()
	return descs[:]
}

// Collect implements Collector. What cannot be read is left out.
func (p Process) Collect() []Family {
	descs := processDescs()
	var families []Family
	add := func(i int, value float64, known bool) {
		if known {
			families = append(families, one(descs[i], value))
		}
	}
	if user, system, started, size, resident, ok := p.stat(); ok {
		add(0, (user+system)/ticks, true)
		add(1, size, true)
		add(2, resident*float64(os.Getpagesize()), true)
		booted, ok := p.field("/stat", "btime ")
		add(3, booted+started/ticks, ok)
	}
	open, err := os.ReadDir(p.dir + "/self/fd")
	add(4, float64(len(open)), err == nil)
	files, ok := p.field("/self/limits", "Max open files ")
	add(5, files, ok)
	space, ok := p.field("/self/limits", "Max address space ")
	add(6, space, ok)
	received, sent, ok := p.octets()
	add(7, received, ok)
	add(8, sent, ok)
	return families
}

// stat reads /proc/self/stat: times in ticks, a size in bytes and one in pages.
func (p Process) stat() (user, system, started, size, resident float64, ok bool) {
	text, err := os.ReadFile(p.dir + "/self/stat")
	if err != nil {
		return 0, 0, 0, 0, 0, false
	}
	// The name of the program, the second field, may hold anything, a parenthesis included.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	ok = true
	number := func(i int) float64 { // as proc(5) counts, from 1; the state is the third
		if i -= 3; i >= len(fields) {
			ok = false
			return 0
		}
		value, err := strconv.ParseFloat(fields[i], 64)
		ok = ok && err == nil
		return value
	}
	return number(14), number(15), number(22), number(23), number(24), ok
}

// field returns the first number of the line of a file that begins with name. "unlimited" is the greatest number of
// 64 bits.
func (p Process) field(file, name string) (float64, bool) {
	text, err := os.ReadFile(p.dir + file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(strings.TrimLeft(line, " "), name)
		fields := strings.Fields(rest)
		if !found || len(fields) == 0 {
			continue
		}
		if fields[0] == "unlimited" {
			return 1 << 64, true
		}
		value, err := strconv.ParseFloat(fields[0], 64)
		return value, err == nil
	}
	return 0, false
}

// octets reads the bytes of IP from /proc/self/net/netstat, which names its columns in the line before their values.
func (p Process) octets() (received, sent float64, ok bool) {
	text, err := os.ReadFile(p.dir + "/self/net/netstat")
	if err != nil {
		return 0, 0, false
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "IpExt: ") {
			continue
		}
		if names == nil {
			names = strings.Fields(line)
			continue
		}
		for i, value := range strings.Fields(line) {
			if i >= len(names) {
				break
			}
			switch names[i] {
			case "InOctets":
				received, err = strconv.ParseFloat(value, 64)
			case "OutOctets":
				sent, err = strconv.ParseFloat(value, 64)
			}
			if err != nil {
				return 0, 0, false
			}
		}
		return received, sent, true
	}
	return 0, 0, false
}
