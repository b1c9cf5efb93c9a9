//! An exported function, whose type is checked once at lookup and not at every call.
//!
//! One of the files with `unsafe` code (`tests/it/tidy.rs` lists them): checking the type again
//! in each instance adds a fifth to the instructions of a short call (`bench/README.md`).

use std::marker::PhantomData;

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{
    Component, ComponentExportIndex, ComponentNamedList, Func, Instance, InstancePre, Lift, Lower, TypedFunc, Val,
};
use wasmtime::{AsContextMut, Store};

use crate::plugin::error::LoadError;

/// The index of an export of one component, a function with parameters `P` and result `R`.
pub(in crate::plugin) struct Function<P, R> {
    component: Component,
    index: ComponentExportIndex,
    kind: PhantomData<fn(P) -> R>,
}

impl<P, R> Clone for Function<P, R> {
    fn clone(&self) -> Self {
        Self { component: self.component.clone(), index: self.index, kind: PhantomData }
    }
}

impl<P, R> Function<P, R>
where
    P: ComponentNamedList + Lower,
    R: ComponentNamedList + Lift,
{
    /// Looks it up in an exported interface, and checks its type.
    ///
    /// # Errors
    /// If there is no function of that name, or it has another type.
    pub(in crate::plugin) fn find<T>(
        pre: &InstancePre<T>,
        interface: (&str, &ComponentExportIndex),
        name: &str,
    ) -> Result<Self, LoadError> {
        let (interface, within) = interface;
        let full = || format!("{interface}.{name}");
        let component = pre.component();
        let Some((item, index)) = component.get_export(Some(within), name) else {
            return Err(LoadError::MissingFunction(full()));
        };
        let ComponentItem::ComponentFunc(function) = item else { return Err(LoadError::WrongType(full())) };
        function.typecheck::<P, R>(&pre.instance_type()).map_err(|_| LoadError::WrongType(full()))?;
        Ok(Self { component: component.clone(), index, kind: PhantomData })
    }
}

/// An instance together with its component.
pub(in crate::plugin) struct BoundInstance {
    instance: Instance,
    component: Component,
}

impl BoundInstance {
    /// Instantiates the component.
    pub(in crate::plugin) async fn new<T: Send>(pre: &InstancePre<T>, store: &mut Store<T>) -> wasmtime::Result<Self> {
        let instance = pre.instantiate_async(store).await?;
        Ok(Self { instance, component: pre.component().clone() })
    }

    /// Calls a function whose types are known at run time only. `returns`: whether it has a result;
    /// without one, that is `false`. `None`: the instance has no such function.
    ///
    /// # Errors
    /// Those of the call.
    pub(in crate::plugin) async fn call_dynamic<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        index: &ComponentExportIndex,
        params: &[Val],
        returns: bool,
    ) -> wasmtime::Result<Option<Val>> {
        let Some(function) = self.dynamic(&mut *store, index) else { return Ok(None) };
        let mut results = [Val::Bool(false)];
        function.call_async(store, params, &mut results[..usize::from(returns)]).await?;
        let [result] = results;
        Ok(Some(result))
    }

    /// A function whose types are known at run time only.
    pub(in crate::plugin) fn dynamic(&self, store: impl AsContextMut, index: &ComponentExportIndex) -> Option<Func> {
        self.instance.get_func(store, index)
    }

    /// The function in this instance.
    ///
    /// # Errors
    /// If the function belongs to another component.
    pub(in crate::plugin) fn function<P, R>(
        &self,
        mut store: impl AsContextMut,
        function: &Function<P, R>,
    ) -> wasmtime::Result<TypedFunc<P, R>>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        let code = |component: &Component| component.image_range();
        wasmtime::ensure!(code(&self.component) == code(&function.component), "a function of another component");
        let Some(found) = self.instance.get_func(&mut store, function.index) else {
            wasmtime::bail!("a function that the instance does not have")
        };
        // SAFETY: `new_unchecked` requires a function of this type. `Function::find` has checked
        // the type of this export of this component: both components exist, so equal addresses
        // of their code mean that they are the same one.
        #[allow(unsafe_code)]
        Ok(unsafe { TypedFunc::new_unchecked(found) })
    }
}
