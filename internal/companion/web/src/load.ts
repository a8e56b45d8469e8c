import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { message, type Store } from "./store";

// Loaded is what a path answered last.
export interface Loaded<T> {
  data: T | null;
  trouble: string;
  again(): void;
}

// useLoaded reads a path when there is a connection, and again every period while the page is looked at; 0 reads it once.
// What came late, for a path that is not shown any more, is dropped.
export function useLoaded<T>(store: Store, path: string, period = 0): Loaded<T> {
  const [data, setData] = useState<T | null>(null);
  const [trouble, setTrouble] = useState("");
  const shown = useRef(path);
  shown.current = path;
  const again = useCallback(() => {
    store.get<T>(path).then(
      (found) => {
        if (shown.current !== path) return;
        setData(found);
        setTrouble("");
      },
      (error: unknown) => shown.current === path && setTrouble(message(error)),
    );
  }, [store, path]);
  useEffect(() => setData(null), [again]);
  useEffect(() => {
    if (store.open) again();
  }, [again, store.open]);
  useEffect(() => {
    if (period === 0) return;
    const timer = setInterval(() => !document.hidden && again(), period);
    return () => clearInterval(timer);
  }, [again, period]);
  return { data, trouble, again };
}
