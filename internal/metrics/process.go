package metrics

import "callgate/internal/exposition"

// used is what the operating system counts for this process. What it cannot tell is nil.
type used struct {
	cpu, started       *float64 // seconds, and since 1970
	resident, virtual  *float64 // bytes
	mostVirtual        *float64
	open, mostOpen     *float64 // files
	received, transmit *float64 // bytes, of the network that the process sees
}

// process writes what this process uses. Names and texts are those of Prometheus' own library.
func process(w exposition.Writer) {
	u := usedNow()
	for _, one := range []struct {
		write      func(name, help string, value float64, labels ...string)
		name, help string
		value      *float64
	}{
		{w.Counter, "process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", u.cpu},
		{w.Gauge, "process_open_fds", "Number of open file descriptors.", u.open},
		{w.Gauge, "process_max_fds", "Maximum number of open file descriptors.", u.mostOpen},
		{w.Gauge, "process_virtual_memory_bytes", "Virtual memory size in bytes.", u.virtual},
		{w.Gauge, "process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.", u.mostVirtual},
		{w.Gauge, "process_resident_memory_bytes", "Resident memory size in bytes.", u.resident},
		{w.Gauge, "process_start_time_seconds", "Start time of the process since unix epoch in seconds.", u.started},
		{w.Counter, "process_network_receive_bytes_total", "Number of bytes received by the process over the network.", u.received},
		{w.Counter, "process_network_transmit_bytes_total", "Number of bytes sent by the process over the network.", u.transmit},
	} {
		if one.value != nil {
			one.write(one.name, one.help, *one.value)
		}
	}
}
