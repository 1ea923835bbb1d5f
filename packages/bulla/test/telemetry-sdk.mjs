// An OpenTelemetry SDK for a process under test: `node --import 'file:///…/telemetry-sdk.mjs?out=FILE'`. Each span that
// ends is appended to the file as a line.
import { appendFileSync } from 'node:fs';
import { trace } from '@opentelemetry/api';
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

const file = new URL(import.meta.url).searchParams.get('out');
const exporter = {
  export(spans, done) {
    for (const span of spans) {
      const { name, kind, attributes, parentSpanContext } = span;
      const { traceId, spanId } = span.spanContext();
      const line = { name, kind, attributes, traceId, spanId, parentId: parentSpanContext?.spanId ?? null };
      appendFileSync(file, `${JSON.stringify(line)}\n`);
    }
    done({ code: 0 });
  },
  shutdown: async () => {},
};
trace.setGlobalTracerProvider(
  new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
);
