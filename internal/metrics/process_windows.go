package metrics

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	memoryInfo  = windows.NewLazySystemDLL("psapi.dll").NewProc("GetProcessMemoryInfo")
	handleCount = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetProcessHandleCount")
)

// counters is PROCESS_MEMORY_COUNTERS_EX.
type counters struct {
	_, _         uint32
	_            uintptr
	workingSet   uintptr
	_            [6]uintptr
	privateUsage uintptr
}

// mostHandles is a bound of Windows, the same for all processes.
const mostHandles = 16 << 20

// usedNow asks Windows.
func usedNow() (u used) {
	self := windows.CurrentProcess()
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(self, &created, &exited, &kernel, &user) == nil {
		u.started = new(float64(created.Nanoseconds() / 1e9))
		u.cpu = new(seconds(kernel) + seconds(user))
	}
	var memory counters
	if ok, _, _ := memoryInfo.Call(uintptr(self), uintptr(unsafe.Pointer(&memory)), unsafe.Sizeof(memory)); ok != 0 {
		u.resident, u.virtual = new(float64(memory.workingSet)), new(float64(memory.privateUsage))
	}
	var handles uint32
	if ok, _, _ := handleCount.Call(uintptr(self), uintptr(unsafe.Pointer(&handles))); ok != 0 {
		u.open, u.mostOpen = new(float64(handles)), new(float64(mostHandles))
	}
	return u
}

// seconds is a duration: a time is counted from another year.
func seconds(f windows.Filetime) float64 {
	return float64(uint64(f.HighDateTime)<<32+uint64(f.LowDateTime)) / 1e7
}
