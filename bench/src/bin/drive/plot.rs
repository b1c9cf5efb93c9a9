//! Draws the scaling figures as one SVG with a panel per axis. Omits what was not measured.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::http_client::MODERN;
use crate::report::Report;
use crate::{http, scale};

const SIZE: (u32, u32) = (1000, 720);
const COLORS: [RGBColor; 2] = [RGBColor(0x1f, 0x77, 0xb4), RGBColor(0xd6, 0x5f, 0x0e)];

/// One panel: a figure over a logarithmic axis.
struct Panel {
    title: &'static str,
    axis: &'static str,
    figure: &'static str,
    /// Position on the axis, and the row that has the figure.
    points: Vec<(usize, String)>,
}

fn panels() -> [Panel; 4] {
    let rows = |what: &str, at: &[usize]| at.iter().map(|at| (*at, scale::row(what, *at))).collect();
    let connections = |at: &usize| (*at, format!("{}: echo", http::row(MODERN, *at)));
    [
        Panel {
            title: "Plugins in service",
            axis: "plugins",
            figure: "p50, µs",
            points: rows(scale::PLUGIN_COUNT, &scale::PLUGINS),
        },
        Panel {
            title: "Bytes of argument and result",
            axis: "bytes",
            figure: "p50, µs",
            points: rows(scale::PAYLOAD, &scale::PAYLOADS),
        },
        Panel {
            title: "HTTP connections, one call at a time on each",
            axis: "connections",
            figure: "calls/s",
            points: http::CONNECTIONS.iter().map(connections).collect(),
        },
        Panel {
            title: "Cores of the server, stdio, 64 in flight",
            axis: "cores",
            figure: "calls/s",
            points: rows(scale::CORE_COUNT, &scale::CORES),
        },
    ]
}

/// Writes the SVG.
///
/// # Errors
/// If the file cannot be written.
pub fn draw(report: &Report, file: &Path) -> Result<()> {
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    let drawn = || -> Result<()> {
        area.fill(&WHITE).map_err(failed)?;
        for (panel, area) in panels().iter().zip(area.split_evenly((2, 2))) {
            panel.draw(report, &area)?;
        }
        area.present().map_err(failed)
    };
    drawn().with_context(|| format!("draw {}", file.display()))
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{error}")
}

impl Panel {
    fn draw(&self, report: &Report, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<()> {
        let columns = report.columns();
        let lines: Vec<Vec<(f64, f64)>> = (0..columns.len())
            .map(|column| {
                let figure = |row: &str| report.medians(row).map(|all| all[column]).filter(|it| it.is_finite());
                self.points.iter().filter_map(|(at, row)| Some((*at as f64, figure(row)?))).collect()
            })
            .collect();
        let all = || lines.iter().flatten();
        if all().next().is_none() {
            return Ok(());
        }
        let reach = |of: fn(&(f64, f64)) -> f64| {
            all().map(of).fold((f64::MAX, 0_f64), |(least, most), it| (least.min(it), most.max(it)))
        };
        let ((left, right), (_, top)) = (reach(|point| point.0), reach(|point| point.1));
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 17))
            .margin(12)
            .x_label_area_size(38)
            .y_label_area_size(64)
            .build_cartesian_2d((left * 0.9..right * 1.1).log_scale(), 0.0..top * 1.15)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .x_desc(self.axis)
            .y_desc(self.figure)
            .x_label_formatter(&|at| format!("{at:.0}"))
            .light_line_style(WHITE)
            .draw()
            .map_err(failed)?;
        for ((points, name), color) in lines.iter().zip(columns).zip(COLORS) {
            let drawn = chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)));
            let line = drawn.map_err(failed)?;
            if !points.is_empty() {
                line.label(*name).legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
            }
            let dots = points.iter().map(|point| Circle::new(*point, 3, color.filled()));
            chart.draw_series(dots).map_err(failed)?;
        }
        chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw().map_err(failed)?;
        Ok(())
    }
}
