package metrics

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"callgate/internal/exposition"
)

// goRuntime writes what Go's runtime counts. Names and texts are those of Prometheus' own library.
func goRuntime(w exposition.Writer) {
	w.Gauge("go_goroutines", "Number of goroutines that currently exist.", float64(runtime.NumGoroutine()))
	threads, _ := runtime.ThreadCreateProfile(nil) // it has no room for them: it counts
	w.Gauge("go_threads", "Number of OS threads created.", float64(threads))
	w.Gauge("go_info", "Information about the Go environment.", 1, "version", runtime.Version())
	pauses := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&pauses)
	var quantiles []exposition.Quantile
	for i, pause := range pauses.PauseQuantiles {
		quantiles = append(quantiles, exposition.Quantile{Share: float64(i) / 4, Value: pause.Seconds()})
	}
	w.Summary("go_gc_duration_seconds", "A summary of the wall-time pause (stop-the-world) duration in garbage collection cycles.",
		quantiles, pauses.PauseTotal.Seconds(), uint64(pauses.NumGC))
	w.Gauge("go_memstats_last_gc_time_seconds", "Number of seconds since 1970 of last garbage collection.", float64(pauses.LastGC.UnixNano())/1e9)
	settings(w)
	memory(w)
}

// settings writes how the runtime is set.
func settings(w exposition.Writer) {
	names := map[string]string{"/gc/gogc:percent": "go_gc_gogc_percent", "/gc/gomemlimit:bytes": "go_gc_gomemlimit_bytes", "/sched/gomaxprocs:threads": "go_sched_gomaxprocs_threads"}
	for _, about := range metrics.All() {
		name, ok := names[about.Name]
		if !ok {
			continue
		}
		now := []metrics.Sample{{Name: about.Name}}
		if metrics.Read(now); now[0].Value.Kind() == metrics.KindUint64 {
			w.Gauge(name, about.Description+" Sourced from "+about.Name+".", float64(now[0].Value.Uint64()))
		}
	}
}

// memory writes what memory is used for.
func memory(w exposition.Writer) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	gauge := func(name, help string, value uint64) { w.Gauge("go_memstats_"+name, help, float64(value)) }
	counter := func(name, help string, value uint64) { w.Counter("go_memstats_"+name, help, float64(value)) }
	gauge("alloc_bytes", "Number of bytes allocated in heap and currently in use. Equals to /memory/classes/heap/objects:bytes.", m.Alloc)
	counter("alloc_bytes_total", "Total number of bytes allocated in heap until now, even if released already. Equals to /gc/heap/allocs:bytes.", m.TotalAlloc)
	gauge("sys_bytes", "Number of bytes obtained from system. Equals to /memory/classes/total:byte.", m.Sys)
	counter("mallocs_total", "Total number of heap objects allocated, both live and gc-ed. Semantically a counter version for go_memstats_heap_objects gauge. Equals to /gc/heap/allocs:objects + /gc/heap/tiny/allocs:objects.", m.Mallocs)
	counter("frees_total", "Total number of heap objects frees. Equals to /gc/heap/frees:objects + /gc/heap/tiny/allocs:objects.", m.Frees)
	gauge("heap_alloc_bytes", "Number of heap bytes allocated and currently in use, same as go_memstats_alloc_bytes. Equals to /memory/classes/heap/objects:bytes.", m.HeapAlloc)
	gauge("heap_sys_bytes", "Number of heap bytes obtained from system. Equals to /memory/classes/heap/objects:bytes + /memory/classes/heap/unused:bytes + /memory/classes/heap/released:bytes + /memory/classes/heap/free:bytes.", m.HeapSys)
	gauge("heap_idle_bytes", "Number of heap bytes waiting to be used. Equals to /memory/classes/heap/released:bytes + /memory/classes/heap/free:bytes.", m.HeapIdle)
	gauge("heap_inuse_bytes", "Number of heap bytes that are in use. Equals to /memory/classes/heap/objects:bytes + /memory/classes/heap/unused:bytes", m.HeapInuse)
	gauge("heap_released_bytes", "Number of heap bytes released to OS. Equals to /memory/classes/heap/released:bytes.", m.HeapReleased)
	gauge("heap_objects", "Number of currently allocated objects. Equals to /gc/heap/objects:objects.", m.HeapObjects)
	gauge("stack_inuse_bytes", "Number of bytes obtained from system for stack allocator in non-CGO environments. Equals to /memory/classes/heap/stacks:bytes.", m.StackInuse)
	gauge("stack_sys_bytes", "Number of bytes obtained from system for stack allocator. Equals to /memory/classes/heap/stacks:bytes + /memory/classes/os-stacks:bytes.", m.StackSys)
	gauge("mspan_inuse_bytes", "Number of bytes in use by mspan structures. Equals to /memory/classes/metadata/mspan/inuse:bytes.", m.MSpanInuse)
	gauge("mspan_sys_bytes", "Number of bytes used for mspan structures obtained from system. Equals to /memory/classes/metadata/mspan/inuse:bytes + /memory/classes/metadata/mspan/free:bytes.", m.MSpanSys)
	gauge("mcache_inuse_bytes", "Number of bytes in use by mcache structures. Equals to /memory/classes/metadata/mcache/inuse:bytes.", m.MCacheInuse)
	gauge("mcache_sys_bytes", "Number of bytes used for mcache structures obtained from system. Equals to /memory/classes/metadata/mcache/inuse:bytes + /memory/classes/metadata/mcache/free:bytes.", m.MCacheSys)
	gauge("buck_hash_sys_bytes", "Number of bytes used by the profiling bucket hash table. Equals to /memory/classes/profiling/buckets:bytes.", m.BuckHashSys)
	gauge("gc_sys_bytes", "Number of bytes used for garbage collection system metadata. Equals to /memory/classes/metadata/other:bytes.", m.GCSys)
	gauge("other_sys_bytes", "Number of bytes used for other system allocations. Equals to /memory/classes/other:bytes.", m.OtherSys)
	gauge("next_gc_bytes", "Number of heap bytes when next garbage collection will take place. Equals to /gc/heap/goal:bytes.", m.NextGC)
}
