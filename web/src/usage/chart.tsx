import { useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useDark } from '../components/theme';
import { type Colour, type Layer, stacked } from './series';

const HEIGHT = 190; // pixels
const COLOURS = [
  ['--chart-1', 'bg-chart-1'],
  ['--chart-5', 'bg-chart-5'],
  ['--chart-3', 'bg-chart-3'],
  ['--chart-4', 'bg-chart-4'],
  ['--chart-2', 'bg-chart-2'],
] as const;
const NAMED: Record<Colour, readonly [string, string]> = { good: ['--chart-2', 'bg-chart-2'], rest: ['--chart-6', 'bg-chart-6'] };
const LABEL_WIDTH = 64; // of a day's label, with space

interface Props {
  days: string[];
  layers: Layer[];
  write: (value: number) => string;
  about: string; // for people who cannot see it
}

// Chart stacks layers by day. Its legend has the values of the day under the pointer, or the sums.
export default function Chart({ days, layers, write, about }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [day, setDay] = useState<number | null>(null);
  const dark = useDark();
  useEffect(() => {
    const at = place.current!;
    const plot = new uPlot(options(at, days, layers, write, setDay), dataOf(days, layers), at);
    const resized = new ResizeObserver(() => at.clientWidth > 0 && plot.setSize({ width: at.clientWidth, height: HEIGHT }));
    resized.observe(at);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [days, layers, write, dark]);
  return (
    <div>
      <div ref={place} role="img" aria-label={about} className="h-[190px] w-full overflow-hidden" data-chart />
      <ul aria-label="Legend" className="mt-2 flex min-h-10 flex-wrap content-start gap-x-4 gap-y-1 text-xs text-soft">
        <li className="w-20 font-medium text-text">{day === null ? 'All days' : days[day]}</li>
        {layers.map((layer, i) => (
          <li key={layer.name} className="flex max-w-64 items-center gap-1.5">
            <span aria-hidden className={`size-2.5 shrink-0 rounded-sm ${colourOf(layer, i)[1]}`} />
            <span className="truncate">{layer.name}</span>
            <span className="text-text">{write(day === null ? layer.values.reduce((sum, value) => sum + value, 0) : (layer.values[day] ?? 0))}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

// colourOf is a layer's colour, for the canvas and the legend.
function colourOf(layer: Layer, at: number): readonly [string, string] {
  return layer.colour ? NAMED[layer.colour] : COLOURS[at % COLOURS.length]!;
}

// dataOf puts the whole height first: later layers are drawn over it.
function dataOf(days: string[], layers: Layer[]): uPlot.AlignedData {
  return [days.map((_, i) => i), ...stacked(layers).reverse()];
}

function options(at: HTMLElement, days: string[], layers: Layer[], write: (value: number) => string, onDay: (day: number | null) => void): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const font = `11px ${getComputedStyle(at).fontFamily}`;
  const axis = { stroke: colour('--text-faint'), font, ticks: { show: false } };
  const bars = uPlot.paths.bars!({ size: [0.72, 48], radius: 0.15 });
  return {
    width: Math.max(1, at.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: { x: { time: false, range: [-0.6, days.length - 0.4] }, y: { range: (_, least, most) => [Math.min(0, least * 1.08), most > 0 ? most * 1.08 : 1] } },
    axes: [
      { ...axis, size: 24, grid: { show: false }, splits: (plot) => labelled(days.length, plot.width), values: (_, splits) => splits.map((i) => days[i]?.slice(5) ?? '') },
      { ...axis, size: 58, grid: { stroke: colour('--line'), width: 1 }, values: (_, splits) => splits.map(write) },
    ],
    series: [{}, ...layers.map((layer, i) => ({ paths: bars, points: { show: false }, fill: colour(colourOf(layer, i)[0]), width: 0 })).reverse()],
    hooks: { setCursor: [(plot) => onDay(plot.cursor.idx ?? null)] },
  };
}

// labelled returns the days with enough space for their labels.
function labelled(days: number, width: number): number[] {
  const each = Math.max(1, Math.ceil((days * LABEL_WIDTH) / Math.max(1, width)));
  return Array.from({ length: Math.ceil(days / each) }, (_, i) => days - 1 - i * each).reverse();
}
